"""Memory over the API: people within what they may see, agents in their own chain."""

from typing import Any

import httpx
import pytest

from carrel.access import mint_run_token
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait, start

WEB = "agent:main:web:conversation1"
SCOPE = "session:web:conversation1"


async def kept(client: httpx.AsyncClient, content: str, scope: str = SCOPE, **more: Any) -> Json:
    """Keep a memory."""
    answer = await client.post("/api/memory", json={"scope": scope, "type": "fact", "content": content, **more})
    assert answer.status_code == 201, answer.text
    item: Json = answer.json()["item"]
    return item


async def listed(client: httpx.AsyncClient, **query: str) -> Json:
    """Return a list of memories."""
    answer = await client.get("/api/memory", params=query)
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    return page


def contents(page: Json) -> list[str]:
    """Return the texts of a list."""
    return [item["content"] for item in page["items"]]


@requirement("S3.scope.chain.plain", "S3.scope.chain.task")
async def test_a_person_keeps_lists_searches_changes_and_forgets(on_either: httpx.AsyncClient) -> None:
    client = on_either
    await send_and_wait(client, "hello", sessionKey=WEB)
    await client.post("/api/tasks", json={"id": "t1", "title": "Paint"})
    green = await kept(client, "The door is green", tags=["door"], expiresAt="2999-01-01T00:00:00Z")
    assert set(green) == {
        "id", "scope", "type", "title", "content", "tags", "confidence", "source", "createdBy", "createdAt",
        "updatedAt", "expiresAt", "promotedFrom",
    }  # fmt: skip
    assert (green["scope"], green["source"]) == (SCOPE, {"runId": None, "entryId": None})
    done = await kept(client, "Half of the doors are painted", "task:t1", type="task_state")
    chain = await listed(client, sessionId=WEB)
    assert (chain["chain"], contents(chain)) == ([SCOPE, "global"], ["The door is green"])
    both = await listed(client, sessionId="conversation1", taskId="t1", limit="1")
    assert both["chain"] == ["task:t1", SCOPE, "global"]
    assert contents(both) == [done["content"]]
    following = await listed(client, sessionId="conversation1", taskId="t1", cursor=both["nextCursor"])
    assert (contents(following), following["nextCursor"]) == ([green["content"]], None)
    assert contents(await listed(client, scope=SCOPE, type="decision")) == []
    found = (await client.get("/api/memory/search", params={"q": "green doors", "sessionId": WEB})).json()
    assert [(item["id"], item["reason"].partition(";")[0]) for item in found["items"]] == [
        (green["id"], "matches green, doors")
    ]
    assert found["items"][0]["score"] > 0
    changed = await client.patch(f"/api/memory/{green['id']}", json={"content": "The door is red", "expiresAt": None})
    assert (changed.json()["item"]["content"], changed.json()["item"]["expiresAt"]) == ("The door is red", None)
    assert (await client.delete(f"/api/memory/{green['id']}")).status_code == 204
    assert refused(await client.delete(f"/api/memory/{green['id']}"))[:2] == (404, "not_found")
    assert contents(await listed(client, scope=SCOPE)) == []


@requirement("S3.x.promotion.explicit", "S3.scope.persist.global")
async def test_global_is_written_by_promotion_only(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=WEB)
    direct = await client.post("/api/memory", json={"scope": "global", "type": "fact", "content": "x"})
    assert refused(direct) == (422, "promotion_required", "scope")
    item = await kept(client, "The door is green")
    assert (await client.post(f"/api/memory/{item['id']}/promote", json={})).status_code == 400
    answer = await client.post(f"/api/memory/{item['id']}/promote", json={"reason": "all enter there"})
    assert answer.status_code == 201
    promoted = answer.json()
    assert (promoted["item"]["scope"], promoted["promotedFrom"]) == ("global", item["id"])
    assert contents(await listed(client, scope="global")) == ["The door is green"]
    assert contents(await listed(client, sessionId="agent:main:main")) == ["The door is green"]
    everywhere = f"/api/memory/{promoted['item']['id']}"
    assert refused(await client.patch(everywhere, json={"content": "x"}))[:2] == (422, "promotion_required")
    assert (await client.delete(everywhere)).status_code == 204


@requirement("S3.x.scope.closed", "S3.scope.legacy")
@pytest.mark.parametrize(
    ("scope", "status", "code"),
    [
        ("", 422, "invalid_scope"),
        ("everything", 422, "invalid_scope"),
        ("session:web", 422, "invalid_scope"),
        ("task:a:b", 422, "invalid_scope"),
        ("session:web:unknown1", 404, "not_found"),
        ("session:strange:kind", 404, "not_found"),
        ("task:unknown", 404, "not_found"),
        ("goal:web:conversation1:g1", 404, "not_found"),
    ],
)
async def test_a_scope_that_names_nothing_is_refused(
    client: httpx.AsyncClient, scope: str, status: int, code: str
) -> None:
    await send_and_wait(client, "hello", sessionKey=WEB)
    written = await client.post("/api/memory", json={"scope": scope, "type": "fact", "content": "x"})
    assert refused(written)[:2] == (status, code)
    assert refused(await client.get("/api/memory", params={"scope": scope}))[:2] == (status, code)


async def test_a_session_must_be_named_and_a_scope_must_be_given(client: httpx.AsyncClient) -> None:
    assert refused(await client.get("/api/memory")) == (400, "session_required", "sessionId")
    assert refused(await client.get("/api/memory/search", params={"q": "x"})) == (400, "session_required", "sessionId")
    assert (await client.post("/api/memory", json={"type": "fact", "content": "x"})).status_code == 400
    with_goal = await client.get("/api/memory", params={"sessionId": "agent:main:main", "goalId": "g"})
    assert refused(with_goal)[:2] == (404, "not_found")


async def test_the_main_sessions_of_two_agents_are_told_apart_by_agent_id(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "other"})
    # Before anybody has spoken, the main session is that of the default agent.
    await kept(client, "of main", "session:main:main")
    await send_and_wait(client, "hello", sessionKey="agent:main:main")
    await send_and_wait(client, "hello", sessionKey="agent:other:main")
    body = {"scope": "session:main:main", "type": "fact", "content": "of other"}
    unclear = await client.post("/api/memory", json=body)
    assert refused(unclear)[:2] == (409, "ambiguous_session")
    await kept(client, "of other", "session:main:main", agentId="other")
    for agent in ("main", "other"):
        page = await listed(client, sessionId=f"agent:{agent}:main")
        assert (contents(page), page["agentId"]) == ([f"of {agent}"], agent)
        assert contents(await listed(client, scope="session:main:main", agentId=agent)) == [f"of {agent}"]


@requirement("S3.scope.bound", "S3.metric.blocked")
async def test_people_see_the_memory_of_what_they_may_see(server: HttpServer, client: httpx.AsyncClient) -> None:
    ada = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
    bob = (await client.post("/api/users", json={"name": "Bob"})).json()["user"]["id"]
    adas, bobs = [await server.token(client, kind="user", userId=user) for user in (ada, bob)]
    async with server.client(adas) as as_ada, server.client(bobs) as as_bob:
        await send_and_wait(as_ada, "hello", sessionKey=WEB)
        item = await kept(as_ada, "Ada is moving out")
        path = f"/api/memory/{item['id']}"
        assert contents(await listed(client, scope=SCOPE)) == ["Ada is moving out"]
        for query in ({"scope": SCOPE}, {"scope": SCOPE, "agentId": "main"}, {"sessionId": WEB}):
            assert refused(await as_bob.get("/api/memory", params=query))[:2] == (404, "not_found")
        assert refused(await as_bob.patch(path, json={"title": "x"}))[:2] == (404, "not_found")
        assert refused(await as_bob.delete(path))[:2] == (404, "not_found")
        assert refused(await as_bob.post(f"{path}/promote", json={"reason": "x"}))[:2] == (404, "not_found")
        assert refused(await as_bob.get(f"{path}/reads"))[:2] == (404, "not_found")
        body = {"scope": SCOPE, "type": "fact", "content": "x"}
        assert refused(await as_bob.post("/api/memory", json=body))[:2] == (404, "not_found")
        everywhere = (await as_ada.post(f"{path}/promote", json={"reason": "all know"})).json()["item"]["id"]
        await send_and_wait(as_ada, "is Ada moving?", sessionKey=WEB)
        await send_and_wait(as_bob, "is Ada moving?", sessionKey="agent:main:web:conversation2")
        told = [(await one.get(f"/api/memory/{everywhere}/reads")).json()["reads"] for one in (as_ada, as_bob, client)]
        assert [[read["sessionKey"] for read in reads] for reads in told] == [
            [], ["agent:main:web:conversation2"], ["agent:main:web:conversation2"],
        ]  # fmt: skip
        own = (await as_ada.get(f"{path}/reads")).json()["reads"]
        assert [(read["sessionKey"], set(read)) for read in own] == [(WEB, {"runId", "sessionKey", "at"})]


@requirement("S3.scope.bound", "S3.x.task.bound")
async def test_an_agent_reads_its_own_chain_and_writes_with_its_tools(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.post("/api/tasks", json={"id": "t1", "title": "Paint"})
    await client.post("/api/tasks", json={"id": "t2", "title": "Mow"})
    await send_and_wait(client, "hello", sessionKey=WEB)
    foreign = await kept(client, "of the chat")
    mine = await kept(client, "of the task", "task:t1")
    other = await kept(client, "of the other task", "task:t2")
    await start(client, "hold here", sessionKey="agent:main:task:t1")
    await server.agent.reached("here")
    secret = await run_token(server, client, "agent:main:task:t1")
    async with (
        server.client(secret) as run,
        server.client(await server.token(client, kind="agent", agentId="main")) as agent,
    ):
        page = await listed(run, sessionId="current")
        assert (page["chain"], contents(page)) == (["task:t1", "session:task:t1", "global"], ["of the task"])
        assert contents(await listed(run, scope="task:t1")) == ["of the task"]
        assert (await run.get(f"/api/memory/{mine['id']}/reads")).status_code == 200
        for query in (
            {"sessionId": WEB},
            {"sessionId": "current", "taskId": "t2"},
            {"scope": "task:t2"},
            {"scope": SCOPE},
        ):
            assert refused(await run.get("/api/memory", params=query))[:2] == (404, "not_found"), query
        for item in (foreign, other):
            assert refused(await run.get(f"/api/memory/{item['id']}/reads"))[:2] == (404, "not_found")
        # The agent itself is in its main session, and in no task.
        assert (await listed(agent, sessionId="current"))["chain"] == ["session:main:main", "global"]
        for query in ({"sessionId": WEB}, {"scope": "task:t1"}, {"sessionId": "current", "taskId": "t1"}):
            assert refused(await agent.get("/api/memory", params=query))[:2] == (404, "not_found"), query
        body = {"scope": "task:t1", "type": "fact", "content": "x"}
        assert refused(await run.post("/api/memory", json=body))[:2] == (403, "forbidden")
    server.agent.release("here")


async def run_token(server: HttpServer, client: httpx.AsyncClient, key: str) -> str:
    """Return a token of the run that is under way in a lane."""
    run_id = (await client.get(f"/api/sessions/{key}/queue")).json()["running"]["id"]
    access = await server.access_of()
    return await server.db.write(lambda tx: mint_run_token(tx, access, "main", run_id))


async def test_deleting_a_session_forgets_its_memory(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=WEB)
    item = await kept(client, "The door is green")
    assert (await client.get(f"/api/sessions/{WEB}/access")).json()["chain"] == [SCOPE, "global"]
    assert (await client.delete(f"/api/sessions/{WEB}")).status_code == 204
    assert refused(await client.get(f"/api/memory/{item['id']}/reads"))[:2] == (404, "not_found")
    await send_and_wait(client, "hello", sessionKey=WEB)
    assert contents(await listed(client, sessionId=WEB)) == []


async def test_a_memory_is_kept_once_for_one_idempotency_key(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=WEB)
    body = {"scope": SCOPE, "type": "fact", "content": "The door is green"}
    one, two = [await client.post("/api/memory", json=body, headers={"X-Idempotency-Key": "k"}) for _ in range(2)]
    assert one.json() == two.json()
