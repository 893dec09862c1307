"""Ownership: a task of another caller, agent or account looks exactly as if it did not exist."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import COMPLETED, INPUT_REQUIRED, NEW, Json, ask, get, message, send, state

NOBODY = "run_01aaaaaaaaaaaaaaaaaaaaaaaa"


def every_way(task_id: str) -> list[tuple[str, str, Json | None]]:
    """Return every request about a task: method, path and body."""
    calls: list[tuple[str, Json]] = [
        *[(method, {"id": task_id}) for method in ("GetTask", "CancelTask", "SubscribeToTask")],
        *[(method, {"id": task_id}) for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe")],
        ("SendMessage", {"message": message("more", messageId="m", taskId=task_id)}),
        ("SendStreamingMessage", {"message": message("more", messageId="m", taskId=task_id)}),
        ("SendMessage", {"message": message("more", messageId="m", taskId=task_id, contextId="c")}),
        ("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": "https://93.184.216.34/"}),
        ("GetTaskPushNotificationConfig", {"taskId": task_id, "id": "x"}),
        ("ListTaskPushNotificationConfigs", {"taskId": task_id}),
        ("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "x"}),
    ]
    ways: list[tuple[str, str, Json | None]] = [
        ("POST", "/a2a/main", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        for method, params in calls
    ]
    for above in ("/a2a/main/tasks", "/a2a/main/v1/tasks"):
        ways += [
            ("GET", f"{above}/{task_id}", None),
            ("POST", f"{above}/{task_id}:cancel", {}),
            ("GET", f"{above}/{task_id}:subscribe", None),
            ("GET", f"{above}/{task_id}/pushNotificationConfigs", None),
            ("GET", f"{above}/{task_id}/pushNotificationConfigs/x", None),
            ("DELETE", f"{above}/{task_id}/pushNotificationConfigs/x", None),
        ]
    return ways


async def answers(client: httpx.AsyncClient, task_id: str) -> list[tuple[int, bytes, dict[str, str]]]:
    """Return all responses about a task, without the request ids."""
    found = []
    for method, path, body in every_way(task_id):
        answer = await client.request(method, path, json=body)
        headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
        found.append((answer.status_code, answer.content.replace(task_id.encode(), b"<id>"), headers))
    return found


@asynccontextmanager
async def strangers(server: HttpServer) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Callers other than alice: a client of the same account, another account's owner, and this account's owner."""
    async with server.client() as owner, server.client(server.other_owner) as other:
        bob = await server.token(owner, kind="client", agentIds=["main"], name="bob")
        async with server.client(bob) as program:
            yield {"another program": program, "another account": other, "the owner": owner}


@requirement("S1.x.owner", "S1.wire.errors")
async def test_another_callers_task_looks_missing_to_the_byte(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    server = either_server
    token = await server.token(on_either, kind="client", agentIds=["main"], name="alice")
    async with server.client(token) as alice, strangers(server) as others:
        tasks = [await send(alice, "hello", contextId="c"), await send(alice, "ask what?", contextId="c")]
        for name, stranger in others.items():
            missing = await answers(stranger, NOBODY)
            assert {status for status, _, _ in missing} == {200, 404}
            assert all(b"-32001" in body or b"TASK_NOT_FOUND" in body for _, body, _ in missing)
            for task in tasks:
                assert await answers(stranger, task["id"]) == missing, name
        assert [state(await get(alice, task)) for task in tasks] == [COMPLETED, INPUT_REQUIRED]


@requirement("S1.x.owner", "S1.dispatch.route")
async def test_the_same_context_of_another_caller_is_another_lane(
    server: HttpServer, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    await send(alice, "hold hers", contextId="shared", at_once=True)
    await server.agent.reached("hers")
    theirs = await send(bob, "hello", contextId="shared")
    assert state(theirs) == COMPLETED
    assert "hers" not in str(server.agent.bodies[-1]["input"])
    server.agent.release("hers")


@requirement("S1.x.owner")
async def test_a_task_belongs_only_to_the_agent_it_was_sent_to(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    task = await send(client, "hello")
    missing = await client.get(f"/a2a/writer/tasks/{NOBODY}", headers=NEW)
    there = await client.get(f"/a2a/writer/tasks/{task['id']}", headers=NEW)
    assert (there.status_code, there.content) == (404, missing.content)
    assert (await ask(client, "ListTasks", "writer"))["tasks"] == []


async def test_a_client_reaches_only_the_agents_on_its_list(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    token = await server.token(client, kind="client", agentIds=["writer"], name="carol")
    async with server.client(token) as carol:
        assert state(await send(carol, "hello", agent="writer")) == COMPLETED
        body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        answers = [await carol.post(f"/a2a/{agent}", json=body, headers=NEW) for agent in ("main", "nobody")]
        assert [answer.status_code for answer in answers] == [404, 404]
        # Each names what was asked for, and nothing else is different.
        assert answers[0].text.replace("'main'", "'nobody'") == answers[1].text
        assert (await carol.post("/a2a", json=body, headers=NEW)).status_code == 404
        for path in ("/a2a/main/tasks", "/a2a/nobody/tasks", "/a2a/main/.well-known/agent-card.json"):
            assert (await carol.get(path, headers=NEW)).status_code == 404


async def test_a_missing_or_wrong_token_is_refused(server: HttpServer, client: httpx.AsyncClient) -> None:
    revoked = await server.token(client, kind="client", agentIds=["main"], name="gone")
    tokens = (await client.get("/api/tokens")).json()["tokens"]
    (gone,) = [one["id"] for one in tokens if one["name"] == "gone"]
    assert (await client.delete(f"/api/tokens/{gone}")).status_code == 204
    for token in (None, "nonsense", f"{server.owner}x", revoked):
        async with server.client(token) as nobody:
            for method, path, body in every_way(NOBODY):
                answer = await nobody.request(method, path, json=body)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
                assert "UNAUTHENTICATED" in answer.text


async def test_a_token_in_the_query_is_refused_even_if_none_is_needed(server: HttpServer) -> None:
    async with server.client(None) as nobody:
        for path in ("/.well-known/agent-card.json", "/a2a/main/tasks", f"/a2a/main/tasks/{NOBODY}"):
            for query in ({"token": server.owner}, {"access_token": "x"}, {"q": server.owner}):
                answer = await nobody.get(path, params=query)
                assert answer.status_code == 400
                assert server.owner not in answer.text


async def test_an_agents_own_token_cannot_call_agents(server: HttpServer, client: httpx.AsyncClient) -> None:
    token = await server.token(client, kind="agent", agentId="main")
    async with server.client(token) as agent:
        answer = await agent.get("/a2a/main/tasks", headers=NEW)
        assert (answer.status_code, answer.json()["error"]["status"]) == (403, "PERMISSION_DENIED")


async def test_a_user_has_their_own_tasks(server: HttpServer, client: httpx.AsyncClient) -> None:
    user = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
    token = await server.token(client, kind="user", userId=user)
    async with server.client(token) as ada:
        task = await send(ada, "hello")
        assert [one["id"] for one in (await ask(ada, "ListTasks"))["tasks"]] == [task["id"]]
        assert (await ask(client, "ListTasks"))["tasks"] == []
