"""The tools for tasks at every door, in the lanes of tasks, and the command that stops a task."""

import json
from typing import Any

import httpx
import pytest

from carrel.tools import CATALOG
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, run_of, send_and_wait, settled, start
from tests.surfaces.mcp.client import call, result_of, text_of
from tests.tools.task_world import TASK_TOOLS

HEADER = "x-openclaw-session-key"
ORCHESTRATORS = {
    "task_assign", "task_message", "task_list", "task_get", "task_thread", "task_search", "task_delete"
}  # fmt: skip


async def new_task(client: httpx.AsyncClient, **fields: Any) -> Json:
    """Create a task."""
    answer = await client.post("/api/tasks", json={"title": "Paint the fence", **fields})
    assert answer.status_code == 201, answer.text
    task: Json = answer.json()["task"]
    return task


async def moved(client: httpx.AsyncClient, task_id: str, status: str) -> None:
    """Move a task as a person, along the shortest way."""
    answer = await client.patch(f"/api/tasks/{task_id}", json={"status": status})
    assert answer.status_code == 200, answer.text


async def by_model(server: HttpServer, owner: httpx.AsyncClient, key: str, tool: str, arguments: Json) -> Any:
    """What a model's call gives."""
    await send_and_wait(owner, f"do {json.dumps([[tool, arguments]])}", sessionKey=key)
    items = [item for body in server.agent.bodies for item in body["input"]]
    return json.loads([item["output"] for item in items if item.get("type") == "function_call_output"][-1])


@requirement("S0.x.parity", "S0.orch.tools", "S0.history.available")
@pytest.mark.parametrize("orchestrates", [False, True])
async def test_the_same_tools_are_offered_at_every_door(
    server: HttpServer, client: httpx.AsyncClient, orchestrates: bool
) -> None:
    if orchestrates:
        await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
    task = await new_task(client)
    key = f"agent:main:task:{task['id']}"
    await send_and_wait(client, "hello", sessionKey=key)
    model = {tool["name"]: tool for tool in server.agent.bodies[-1]["tools"]}
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        http = {one["name"]: one for one in (await agent.get("/agent", headers={HEADER: key})).json()["tools"]}
        mcp = {one["name"]: one for one in (await result_of(agent, "tools/list", headers={HEADER: key}))["tools"]}
    expected = TASK_TOOLS if orchestrates else TASK_TOOLS - ORCHESTRATORS - {"task_create"}
    assert set(http) & TASK_TOOLS == set(mcp) & TASK_TOOLS == expected
    assert set(model) & TASK_TOOLS == expected - {"task_load", "task_get", "task_thread"}, "task_history does the same"
    for name in expected:
        schema = json.loads(json.dumps(CATALOG.find(name).schema()))
        assert http[name]["parameters"] == mcp[name]["inputSchema"] == schema
        assert http[name]["aliases"] == [name.replace("_", "-")]


@requirement("S0.x.parity")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task_history", {"taskId": "TASK"}),
        ("task_load", {"taskId": "TASK", "messageLimit": 1}),
        ("task_history", {"taskId": "task_missing"}),
        ("task_history", {}),
        ("task_status", {"taskId": "TASK", "status": "done"}),
        ("task_status", {"taskId": "TASK", "status": "asleep"}),
        ("task_update", {"taskId": "TASK", "title": "Mow the lawn"}),
        ("task_create", {"title": "another"}),
        ("task_list", {}),
        ("response_request", {"recipientSlugs": ["nobody"], "message": "x", "taskId": "TASK"}),
    ],
)
async def test_a_call_for_a_task_is_granted_or_refused_at_every_door_alike(
    server: HttpServer, client: httpx.AsyncClient, tool: str, arguments: Json
) -> None:
    task = await new_task(client, assignedAgentIds=["main"])
    key = f"agent:main:task:{task['id']}"
    given = {name: task["id"] if value == "TASK" else value for name, value in arguments.items()}
    model = await by_model(server, client, key, tool, given)
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        answer = await agent.post(f"/agent/{tool}", json=given, headers={HEADER: key})
        http = answer.json()
        assert ("error" in http) == (answer.status_code != 200)
        hyphened = await agent.post(f"/agent/{tool.replace('_', '-')}", json=given, headers={HEADER: key})
        assert hyphened.status_code == answer.status_code
        result = await call(agent, tool, given, headers={HEADER: key})
    mcp = text_of(result)
    codes = {str(one["error"]["code"]) if "error" in one else "" for one in (model, http, mcp)}
    assert len(codes) == 1, (model, http, mcp)
    if codes == {""}:
        assert set(model) == set(http) == set(mcp)


@pytest.mark.parametrize(
    ("tool", "arguments", "allowed"),
    [
        ("task_status", {"taskId": "x", "status": "won"}, "status must be one of in_progress, review, done, blocked."),
        ("task_status", {"taskID": "x", "status": "done"}, "There is no field taskID; did you mean taskId?"),
        ("task_update", {"taskId": "TASK", "status": "won"}, "status must be one of inbox, assigned, in_progress, "),
        ("task_update", {"taskId": "TASK", "priority": 9}, "priority must be one of 1, 2, 3, 4, 5, critical, high, "),
        ("task_update", {"taskId": "TASK", "status": "inbix"}, "done, blocked, archived; did you mean 'inbox'?"),
        ("task_assign", {"taskId": "TASK", "assigneeSlugs": ["mian"]}, "agent or user 'mian'; did you mean 'main'?"),
        ("task_update", {"taskId": "TASK", "assignedAgentIds": ["mian"]}, "did you mean 'main'? Known: main."),
        ("memory_add", {"content": "x", "type": "idea"}, "type must be one of decision, constraint, failure, fix, "),
    ],
)
async def test_a_refused_call_says_at_every_door_what_is_allowed(
    server: HttpServer, client: httpx.AsyncClient, tool: str, arguments: Json, allowed: str
) -> None:
    await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
    task = await new_task(client)
    given = {name: task["id"] if value == "TASK" else value for name, value in arguments.items()}
    model = await by_model(server, client, "agent:main:main", tool, given)
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        http = (await agent.post(f"/agent/{tool}", json=given)).json()
        mcp = text_of(await call(agent, tool, given))
    for told in (model, http, mcp):
        assert allowed in told["error"]["message"]


@requirement("S0.agent.key")
async def test_a_task_lane_is_named_in_every_spelling(server: HttpServer, client: httpx.AsyncClient) -> None:
    task = await new_task(client)
    key = f"agent:main:task:{task['id']}"
    account = (await client.get("/api/auth/me")).json()["account"]["id"]
    await send_and_wait(client, "hello", sessionKey=key)
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        for spelling in (key, f"{key}:v1", f"task:{task['id']}:agent:main:{account}:v1", "main"):
            answer = await agent.post("/agent/task_history", json={"taskId": task["id"]}, headers={HEADER: spelling})
            assert answer.status_code == 200, answer.text
            assert answer.json()["task"]["id"] == task["id"]


@requirement("S0.route.inflight")
async def test_a_run_may_call_tools_after_its_task_was_done(surface_url: str) -> None:
    async with open_http_server(surface_url, run_tokens=True) as server, server.client() as owner:
        task = await new_task(owner, assignedAgentIds=["main"])
        key = f"agent:main:task:{task['id']}"
        run_id = (await start(owner, "hold here", sessionKey=key))["runId"]
        await server.agent.reached("here")
        await moved(owner, task["id"], "done")
        session = (await run_of(owner, run_id))["sessionId"]
        async with server.client(server.agent.tokens[run_id]) as tools:
            for where in ({}, {HEADER: f"{key}:v1"}, {HEADER: session}):
                answer = await tools.post("/agent/task_history", json={"taskId": task["id"]}, headers=where)
                assert (answer.status_code, answer.json().get("task", {}).get("status")) == (200, "done"), answer.text
            server.agent.release("here")
            assert (await settled(owner, run_id))["state"] == "completed"
            late = await tools.post("/agent/task_history", json={"taskId": task["id"]})
            assert late.status_code in (401, 409)


async def test_an_owner_calls_with_the_rights_of_an_owner_whatever_the_agent_may(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"behaviorFlags": {"canModifyTaskStatus": False}})
    offered = {tool["name"] for tool in (await client.get("/agent")).json()["tools"]}
    assert offered >= TASK_TOOLS
    made = (await client.post("/agent/task_create", json={"title": "x", "assigneeSlugs": ["main"]})).json()["task"]
    assert (made["createdBy"], made["assignedAgentIds"], made["status"]) == ("user", ["main"], "assigned")
    done = await client.post("/agent/task_status", json={"taskId": made["id"], "status": "done"})
    assert done.json()["task"]["status"] == "done"
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        refusal = await agent.post("/agent/task_status", json={"taskId": made["id"], "status": "review"})
        assert refused(refusal)[:2] == (403, "tool_not_allowed")
        assert "canModifyTaskStatus" in refusal.text


@requirement("S0.history.account")
async def test_the_owner_of_another_account_finds_no_task(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    task = await new_task(client, description="a secret")
    missing = await other_client.post("/agent/task_history", json={"taskId": "task_missing"})
    for tool in ("task_history", "task_load", "task_get", "task_thread"):
        answer = await other_client.post(f"/agent/{tool}", json={"taskId": task["id"]})
        assert refused(answer) == refused(missing) == (404, "not_found", None)
        assert answer.json()["error"] == missing.json()["error"]
    assert "secret" not in (await other_client.post("/agent/task_search", json={"query": "secret"})).text


@requirement("S0.x.tools.once")
async def test_a_crash_between_effect_and_answer_creates_and_asks_nothing_twice(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, server.client() as owner:
        await owner.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
        await owner.post("/api/agents", json={"id": "writer", "enabled": True})
        task = await new_task(owner)
        calls = [["task_create", {"title": "made once"}]]
        calls += [["response_request", {"recipientSlugs": ["writer"], "message": "Is it red?"}], ["hold", "there"]]
        key = f"agent:main:task:{task['id']}"
        run_id = (await start(owner, f"do {json.dumps(calls)}", sessionKey=key))["runId"]
        await server.agent.reached("there")
        await server.kill()
        await server.let_leases_end()
        server.agent.release("there")
        server.start()
        await server.settled(run_id)
        found = (await owner.post("/agent/task_search", json={"query": "made once"})).json()["tasks"]
        assert len(found) == 1
        asked = await owner.get("/api/runs", params={"sessionKey": f"agent:writer:task:{task['id']}"})
        assert len(asked.json()["runs"]) == 1


async def test_stopping_in_the_session_of_a_task_blocks_the_task(server: HttpServer, client: httpx.AsyncClient) -> None:
    task = await new_task(client, assignedAgentIds=["main"])
    key = f"agent:main:task:{task['id']}"
    await send_and_wait(client, "hello", sessionKey=key)
    await moved(client, task["id"], "in_progress")
    run_id = (await start(client, "hold here", sessionKey=key))["runId"]
    await server.agent.reached("here")
    answer = await client.post("/api/chat", json={"text": "/stop", "sessionId": key})
    assert answer.json()["reply"] == "Cancelled 1 run. The task is blocked now.", answer.text
    assert (await settled(client, run_id))["state"] == "cancelled"
    stopped = (await client.get(f"/api/tasks/{task['id']}")).json()["task"]
    assert stopped["status"] == "blocked"
    again = await client.post("/api/chat", json={"text": "/stop", "sessionId": key})
    assert again.json()["reply"] == "Nothing is running or waiting here."


@requirement("S0.x.stop.chat")
async def test_the_orchestrator_chat_cannot_be_stopped(server: HttpServer, client: httpx.AsyncClient) -> None:
    account = await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
    chat = account.json()["account"]["settings"]["orchestratorChatTaskId"]
    key = f"agent:main:task:{chat}"
    run_id = (await start(client, "hold here", sessionKey=key))["runId"]
    await server.agent.reached("here")
    answer = await client.post("/api/chat", json={"text": "/stop", "sessionId": key})
    assert "cannot be moved, stopped or archived" in answer.json()["reply"], answer.text
    assert (await run_of(client, run_id))["state"] == "running", "nothing was cancelled"
    assert refused(await client.post(f"/api/tasks/{chat}/stop"))[:2] == (403, "forbidden")
    server.agent.release("here")
