"""Budgets over the API: owners set, see, allow and remove them."""

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, run_of, send_and_wait, settled, start


async def limit(client: httpx.AsyncClient, **body: object) -> Json:
    answer = await client.post("/api/budgets", json=body)
    assert answer.status_code == 200, answer.text
    budget: Json = answer.json()["budget"]
    return budget


async def until_held(server: HttpServer) -> None:
    held = "SELECT 1 FROM runs WHERE state = 'queued' AND held_for IS NOT NULL"
    await server.until(lambda tx: tx.one(held) is not None)


@requirement("P.budget.scopes")
async def test_a_budget_is_set_seen_used_up_allowed_and_removed(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    client = on_either
    made = await limit(client, name="daily", scope="agent:main", tokens=5)
    assert (made["title"], made["share"], made["state"]) == ("agent Main", 0, "within")
    assert made["amounts"] == {"tokens": 5, "usd": None, "runs": None}
    await send_and_wait(client, "one")
    waits = (await start(client, "two"))["runId"]
    await until_held(either_server)
    (budget,) = (await client.get("/api/budgets")).json()["budgets"]
    assert (budget["state"], budget["waiting"], budget["spent"]["tokens"]) == ("used_up", 1, 5)
    assert budget["renewsAt"].endswith("T00:00:00.000Z")
    why = (await client.get(f"/api/runs/{waits}/why")).json()
    assert why["reasons"][0]["code"] == "budget_used_up", why
    fault = (await run_of(client, waits))["lastFault"]
    assert "Budget daily of agent Main, 5 tokens a day, is used up" in fault["message"]
    allowed = await client.post("/api/budgets/allow", json={"name": "daily"})
    assert allowed.json()["budget"]["limits"]["tokens"] == 10
    assert (await settled(client, waits))["state"] == "completed"
    more = (await start(client, "three"))["runId"]
    await until_held(either_server)
    gone = await client.delete("/api/budgets", params={"name": "daily"})
    assert gone.status_code == 204
    assert (await settled(client, more))["state"] == "completed"
    assert (await client.get("/api/budgets")).json()["budgets"] == []


@requirement("P.budget.rights")
async def test_only_owners_have_to_do_with_budgets(server: HttpServer, client: httpx.AsyncClient) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]["id"]
    wanted = [{"kind": "user", "userId": user}, {"kind": "agent", "agentId": "main"}]
    for options in wanted:
        async with server.client(await server.token(client, **options)) as other:
            body = {"name": "all", "scope": "account", "tokens": 1}
            answers = [
                await other.get("/api/budgets"),
                await other.post("/api/budgets", json=body),
                await other.post("/api/budgets/allow", json={"name": "all"}),
                await other.delete("/api/budgets", params={"name": "all"}),
            ]
            assert [answer.status_code for answer in answers] == [403] * 4


async def test_what_is_no_budget_is_refused_with_what_to_do(client: httpx.AsyncClient) -> None:
    async def refusal(**body: object) -> tuple[int, str, str | None]:
        return refused(await client.post("/api/budgets", json=body))

    assert await refusal(name="x", scope="account") == (400, "invalid_params", "tokens")
    assert await refusal(name="x", scope="account:main", tokens=1) == (400, "invalid_params", "scope")
    assert await refusal(name="Two words", scope="account", tokens=1) == (400, "invalid_params", "name")
    assert await refusal(name="x", scope="account", per="week", tokens=1) == (400, "invalid_params", "per")
    assert (await refusal(name="x", scope="agent:nobody", tokens=1))[0] == 404
    unknown = {"name": "unknown"}
    assert refused(await client.post("/api/budgets/allow", json=unknown))[0] == 404
    assert refused(await client.delete("/api/budgets", params=unknown))[0] == 404
    await limit(client, name="each", scope="task", tokens=1)
    assert refused(await client.post("/api/budgets/allow", json={"name": "each"})) == (400, "invalid_params", "subject")
    await limit(client, name="one", scope="agent:main", tokens=1)
    other = await client.post("/api/budgets/allow", json={"name": "one", "subject": "writer"})
    assert refused(other) == (400, "invalid_params", "subject")
    await limit(client, name="all", scope="account", tokens=1)
    whole = await client.post("/api/budgets/allow", json={"name": "all", "subject": "main"})
    assert refused(whole) == (400, "invalid_params", "subject")


@requirement("P.budget.scopes")
async def test_a_budget_of_each_agent_is_allowed_for_one_by_any_of_its_names(client: httpx.AsyncClient) -> None:
    await limit(client, name="each", scope="agent", tokens=5)
    assert (await client.patch("/api/agents/main", json={"slug": "author"})).status_code == 200
    allowed = (await client.post("/api/budgets/allow", json={"name": "each", "subject": "author"})).json()["budget"]
    assert (allowed["subject"], allowed["limits"]["tokens"]) == ("main", 10)
    nobody = await client.post("/api/budgets/allow", json={"name": "each", "subject": "nobody"})
    assert nobody.status_code == 404


async def test_a_budget_of_something_that_is_gone_can_be_removed(client: httpx.AsyncClient) -> None:
    key = "agent:main:web:some-chat-1"
    await send_and_wait(client, "hello", sessionKey=key)
    await limit(client, name="chat", scope=f"session:{key}", per="forever", runs=9)
    assert (await client.delete(f"/api/sessions/{key}")).status_code == 204
    gone = await client.delete("/api/budgets", params={"name": "chat"})
    assert gone.status_code == 204


@requirement("P.budget.scopes")
async def test_a_budget_that_is_set_again_forgets_what_the_one_before_was_allowed(client: httpx.AsyncClient) -> None:
    agent = {"name": "daily", "scope": "agent:main"}
    await limit(client, **agent, tokens=5)
    allowed = await client.post("/api/budgets/allow", json={"name": "daily"})
    assert allowed.json()["budget"]["limits"]["tokens"] == 10
    assert (await limit(client, **agent, tokens=7))["limits"]["tokens"] == 7
