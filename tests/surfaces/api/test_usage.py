"""Usage over the API: sums by day, agent, model, task and session, within what the caller may see."""

import httpx

from carrel.kernel.settings import PriceSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.surfaces.api_calls import Json, refused, send_and_wait


async def usage(client: httpx.AsyncClient, **query: str) -> Json:
    answer = await client.get("/api/usage", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_usage_is_summed_up_by_what_is_asked_for(on_either: httpx.AsyncClient) -> None:
    client = on_either
    task = (await client.post("/api/tasks", json={"title": "Write the report"})).json()["task"]["id"]
    await send_and_wait(client, "one", agentId="main", taskId=task)
    await send_and_wait(client, "two")
    await send_and_wait(client, "fail")
    found = await usage(client)
    assert [row["runs"] for row in found["usage"]] == [3]
    assert found["usage"][0]["day"] == (await client.get("/api/runs")).json()["runs"][0]["endedAt"][:10]
    assert found["total"] == {key: value for key, value in found["usage"][0].items() if key != "day"}
    assert (found["total"]["inputTokens"], found["total"]["outputTokens"]) == (6, 4)
    assert (found["total"]["costUsd"], found["more"]) == (None, False)
    by_session = (await usage(client, by="session"))["usage"]
    assert [(row["sessionKey"], row["title"], row["runs"]) for row in by_session] == [
        ("agent:main:main", "Main", 2), (f"agent:main:task:{task}", "Write the report", 1),
    ]  # fmt: skip
    by_task = (await usage(client, by="task"))["usage"]
    assert [(row["taskId"], row["title"]) for row in by_task] == [(None, "No task"), (task, "Write the report")]
    both = (await usage(client, by="agent,model"))["usage"]
    assert [(row["agentId"], row["runs"]) for row in both] == [("main", 3)]
    assert (await usage(client, taskId=task))["total"]["runs"] == 1
    assert (await usage(client, agentId="nobody"))["usage"] == []
    assert (await usage(client, to="2020-01-01T00:00:00Z"))["usage"] == []


async def test_a_price_in_the_settings_tells_the_cost_in_sum_and_of_each_run(surface_url: str) -> None:
    # The model of an agent and a gateway that name none.
    settings = Settings(prices={"default": PriceSettings(input=1_000_000, output=1_000_000)})
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await send_and_wait(client, "one")
        assert (await usage(client))["total"]["costUsd"] == 5.0
        assert [run["usage"]["costUsd"] for run in (await client.get("/api/runs")).json()["runs"]] == [5.0]


async def test_usage_shows_no_more_than_the_caller_may_see(server: HttpServer, client: httpx.AsyncClient) -> None:
    people = []
    for name in ("ada", "bob"):
        user = (await client.post("/api/users", json={"name": name, "slug": name})).json()["user"]["id"]
        people.append(server.client(await server.token(client, kind="user", userId=user)))
    ada, bob = people
    async with ada, bob:
        await send_and_wait(ada, "hello", sessionKey="agent:main:web:adas-own-chat")
        assert [row["title"] for row in (await usage(ada, by="session"))["usage"]] == ["hello"]
        assert (await usage(bob, by="session"))["usage"] == []
        assert (await usage(bob))["total"]["runs"] == 0
    assert (await usage(client))["total"]["runs"] == 1


async def test_usage_outlives_its_session(client: httpx.AsyncClient) -> None:
    key = "agent:main:web:some-chat-1"
    await send_and_wait(client, "hello", sessionKey=key)
    assert (await client.delete(f"/api/sessions/{key}")).status_code == 204
    assert (await usage(client, by="session"))["usage"][0]["title"] == "Deleted session"


async def test_what_usage_is_not_summed_up_by_is_refused(client: httpx.AsyncClient) -> None:
    assert refused(await client.get("/api/usage", params={"by": "hour"})) == (400, "invalid_params", "by")
    assert refused(await client.get("/api/usage", params={"from": "soon"})) == (400, "invalid_params", "from")
