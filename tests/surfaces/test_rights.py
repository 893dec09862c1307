"""The rights of every kind of token, on every endpoint, page and tool of a running server, against one table."""

import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute

from carrel.goals import PlanChange, PlannedTask, approve_plan
from carrel.goals.plans import change_plan
from carrel.inbound import receive
from carrel.kernel import SessionKey
from carrel.kernel.settings import ClassifierSettings, HooksSettings, Settings, WebhookSettings
from carrel.modes import disable_plan_mode, enable_plan_mode, write_plan
from carrel.records import Artifact, insert_artifact
from carrel.runs import stop_lane
from carrel.storage import Tx
from carrel.surfaces.api.endpoints import ENDPOINTS as SERVED
from carrel.surfaces.api.route_index import RouteIndex
from carrel.tools import CATALOG
from carrel.topics import NewTopic, put_topic
from carrel.work import tasks_planned
from tests.connectors.plain import plain
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, send_and_wait, start
from tests.surfaces.rights_table import (
    A2A,
    CHAT,
    ENDPOINTS,
    KINDS,
    MAY,
    NEVER,
    PAGES,
    RESPONSES,
    ROUTES_OF_METHODS,
    ROUTES_OF_TOOLS,
    TOOLS,
    Rights,
    Verdict,
    a2a_routes,
)
from tests.surfaces.rights_world import DAILY, MAIN, VERDICTS, World, furnished

WEBHOOK, MCP_SERVER = "tickets", "plain"
PLANNING = "agent:main:web:planned-conversation"


@pytest.fixture
async def filled(sqlite_url: str, tmp_path: Path) -> AsyncIterator[World]:
    """The furnished server."""
    secret = tmp_path / "webhook.secret"
    secret.touch(0o600)
    secret.write_text("a-secret-of-the-webhook-0123456789")
    settings = Settings(
        hooks=HooksSettings(enabled=True),
        webhooks={WEBHOOK: WebhookSettings(secret_file=str(secret), agent="nobody")},
        mcp={MCP_SERVER: plain(accounts=("*",))},
        classifier=ClassifierSettings(mode="rules"),
    )
    async with open_http_server(sqlite_url, settings=settings) as server, furnished(server) as built:
        yield built


Request = tuple[str, Any]
# By endpoint: what its path's parameter and its body are; both new for every call where the call may use them up.
NEW: dict[str, Callable[[World, str], Awaitable[Request]]] = {}


def request_of(*names: str) -> Callable[[Any], Any]:
    """Register how to ask the named endpoints."""

    def add(make: Any) -> Any:
        NEW.update(dict.fromkeys(names, make))
        return make

    return add


@request_of("PATCH /api/users/{id}", "DELETE /api/users/{id}")
async def _a_user(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/users", "user", name=filled.name()))["id"], {"name": "other"}


@request_of("DELETE /api/tokens/{id}")
async def _a_token(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/tokens", "token", kind="owner", name="x"))["id"], None


@request_of("PATCH /api/agents/{id}", "DELETE /api/agents/{id}")
async def _an_agent(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/agents", "agent", id=filled.name()))["id"], {"name": "other"}


@request_of("PATCH /api/schedules/{id}", "DELETE /api/schedules/{id}", "POST /api/schedules/{id}/run")
async def _a_schedule(filled: World, _kind: str) -> Request:
    made = await filled.make("/api/schedules", "schedule", **{**DAILY, "sessionId": await filled.lane()})
    return made["id"], {"enabled": False}


@request_of("POST /api/auto/stop")
async def _an_auto_run(filled: World, _kind: str) -> Request:
    return "", {"runId": await filled.auto_run(await filled.lane())}


@request_of(
    "PATCH /api/sessions/{key}", "DELETE /api/sessions/{key}", "POST /api/sessions/{key}/send",
    "POST /api/sessions/{key}/archive", "POST /api/sessions/{key}/unarchive", "POST /api/sessions/{key}/reset",
    "POST /api/sessions/{key}/stop",
)  # fmt: skip
async def _a_lane(filled: World, _kind: str) -> Request:
    return await filled.lane(), None


@request_of("POST /api/sessions/{key}/fork")
async def _an_entry_to_fork(filled: World, _kind: str) -> Request:
    run = await send_and_wait(filled.owner, "hello", taskId=await filled.new_task())
    read = await filled.owner.get(f"/api/sessions/{run['sessionKey']}/history")
    return run["sessionKey"], {"entryId": read.json()["messages"][-1]["id"]}


@request_of("POST /api/runs/{id}/steer")
async def _a_run_at_work(filled: World, kind: str) -> Request:
    gate, task_id = filled.name(), await filled.new_task()
    # Nobody steers a run that may see more than they.
    sender = filled.clients[kind] if kind == "user" else filled.owner
    held = await start(sender, f"hold {gate}", taskId=task_id)
    await filled.server.agent.reached(gate)
    return str(held["runId"]), {"message": "hi"}


@request_of("POST /api/runs/{id}/cancel", "POST /api/runs/{id}/answer")
async def _a_waiting_run(filled: World, _kind: str) -> Request:
    return await filled.asking(), {"text": "that"}


@request_of("POST /api/runs/{id}/retry", "POST /api/runs/{id}/announce", "POST /api/runs/{id}/allow")
async def _a_failed_run(filled: World, _kind: str) -> Request:
    return str((await send_and_wait(filled.owner, "fail", taskId=await filled.new_task()))["id"]), None


@request_of(
    "PATCH /api/tasks/{id}", "DELETE /api/tasks/{id}", "POST /api/tasks/{id}/status", "POST /api/tasks/{id}/assign",
    "POST /api/tasks/{id}/stop", "POST /api/tasks/{id}/messages", "POST /api/tasks/{id}/seen",
)  # fmt: skip
async def _a_task(filled: World, _kind: str) -> Request:
    return await filled.new_task(assignedUserIds=["owners"]), None


@request_of("POST /api/tasks/{id}/reopen")
async def _a_task_that_is_done(filled: World, _kind: str) -> Request:
    task = await filled.new_task()
    (await filled.owner.patch(f"/api/tasks/{task}", json={"status": "done"})).raise_for_status()
    return task, None


@request_of("POST /api/classifier/session-routing")
async def _a_route(filled: World, _kind: str) -> Request:
    access, new = await filled.server.access_of(), NewTopic(name=filled.name())
    topic, _ = await filled.server.db.write(lambda tx: put_topic(tx, access, new))
    return "", {"sessionKey": "discord-4711", "topicId": topic.id}


@request_of("POST /api/classifier/replay")
async def _an_entry_to_sort(filled: World, _kind: str) -> Request:
    return "", {"anchorLogId": (await filled.make("/api/log", "log", type="note", content="x"))["id"]}


@request_of(
    "PATCH /api/memory/{id}", "DELETE /api/memory/{id}", "POST /api/memory/{id}/promote", "GET /api/memory/{id}/reads"
)
async def _a_memory(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/memory", "item", **_fact(filled)))["id"], None


@request_of("GET /api/goals/{id}", "PATCH /api/goals/{id}", "DELETE /api/goals/{id}", "POST /api/goals/{id}/complete")
async def _a_goal(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/goals", "goal", sessionId=MAIN, name=filled.name()))["id"], {"name": "other"}


@request_of("PATCH /api/spaces/{id}", "PATCH /api/spaces/{id}/connectivity", "DELETE /api/spaces/{id}")
async def _a_space(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/spaces", "space", name=filled.name()))["id"], {"defaultVisible": False}


@request_of("GET /api/topics/{id}", "PATCH /api/topics/{id}", "DELETE /api/topics/{id}", "GET /api/topics/{id}/thread")
async def _a_topic(filled: World, _kind: str) -> Request:
    return (await filled.make("/api/topics", "topic", name=filled.name()))["id"], {"pinned": True}


@request_of("POST /api/topics/{id}/merge")
async def _two_topics(filled: World, _kind: str) -> Request:
    one, other = [(await filled.make("/api/topics", "topic", name=filled.name()))["id"] for _ in range(2)]
    return one, {"topicIds": [other]}


@request_of("POST /api/topics/{id}/split")
async def _a_topic_with_an_entry(filled: World, _kind: str) -> Request:
    topic = (await filled.make("/api/topics", "topic", name=filled.name()))["id"]
    made = await filled.make("/api/log", "log", type="conversation", content=filled.name(), topicId=topic)
    return topic, {"entryIds": [made["id"]]}


@request_of("POST /api/topics/reorder")
async def _topics_in_order(filled: World, _kind: str) -> Request:
    return "", {"orderedIds": [(await filled.make("/api/topics", "topic", name=filled.name()))["id"]]}


@request_of("GET /api/artifacts/{id}/content")
async def _an_artifact(filled: World, _kind: str) -> Request:
    def add(tx: Tx) -> int:
        part = Artifact(filled.name(), tx.tick(), "a", None, None, "text", "x", tx.now, 0)
        insert_artifact(tx, filled.server.access, filled.run, part)
        return part.seq

    return f"{filled.run}.{await filled.server.db.write(add)}", None


@request_of("GET /api/log/{id}", "PATCH /api/log/{id}", "DELETE /api/log/{id}")
async def _an_entry(filled: World, _kind: str) -> Request:
    made = await filled.make("/api/log", "log", type="note", content=filled.name(), taskId=filled.task)
    return made["id"], {"summary": "short"}


@request_of("GET /api/hooks/in/deliveries/{id}", "POST /api/hooks/in/deliveries/{id}/redeliver")
async def _a_delivery(filled: World, _kind: str) -> Request:
    server, raw = filled.server, f'{{"title": "{filled.name()}"}}'.encode()
    webhook = server.services.webhooks.named(WEBHOOK, "default")
    assert webhook is not None
    arrival = webhook.read({}, raw, {})
    # Its agent does not exist, so it fails and can be carried out again.
    return await server.db.write(lambda tx: receive(tx, webhook, arrival, raw, server.rules)), None


@request_of("POST /api/hooks/in/{name}/test")
async def _a_webhook(_world: World, _kind: str) -> Request:
    return WEBHOOK, {}


@request_of("POST /api/notes")
async def _a_note(filled: World, kind: str) -> Request:
    about = {} if kind == "another account's owner" else {"relatedLogId": (await _an_entry(filled, kind))[0]}
    return "", {"content": filled.name()} | about


def _fact(filled: World) -> Json:
    return {"scope": "session:main:main", "type": "fact", "content": filled.name()}


@request_of("GET /api/plans/{id}", "PUT /api/plans/{id}", "POST /api/plans/{id}/approve", "POST /api/plans/{id}/cancel")
async def _a_plan(filled: World, _kind: str) -> Request:
    return await _new_plan(filled), {"sessionId": MAIN}


@request_of("POST /api/plans/{id}/resume")
async def _a_plan_that_is_blocked(filled: World, _kind: str) -> Request:
    plan_id, access, rules = await _new_plan(filled), await filled.server.access_of(), filled.server.rules

    def block(tx: Tx) -> None:
        approve_plan(tx, access, plan_id, rules)
        change_plan(tx, access, plan_id, PlanChange(status="blocked"), rules)
        # A run that completes meanwhile would complete the plan.
        for task in tasks_planned(tx, access, plan_id=plan_id):
            stop_lane(tx, access, f"agent:main:task:{task.id}", "stopped")

    await filled.server.db.write(block)
    return plan_id, {"sessionId": MAIN}


async def _new_plan(filled: World) -> str:
    """Return a plan of the main session that is ready, and leave that session as it was."""
    access, rules = await filled.server.access_of(), filled.server.rules
    key, tasks = SessionKey.parse(MAIN), (PlannedTask(title="Work"),)

    def write(tx: Tx) -> str:
        enable_plan_mode(tx, access, key)
        plan = write_plan(tx, access, key, markdown="x", tasks=tasks)
        disable_plan_mode(tx, access, key, rules)
        return plan.id

    return await filled.server.db.write(write)


@request_of("POST /api/notifications/{id}/read")
async def _a_notification(filled: World, kind: str) -> Request:
    return filled.notifications.get(kind, filled.notifications["owner"]), None


BODIES: dict[str, Callable[[World], Any]] = {
    "POST /api/auth/session": lambda filled: {"token": filled.server.owner},
    "POST /api/accounts": lambda filled: {"name": filled.name()},
    # This server speaks Open Responses itself.
    "POST /api/models/probe": lambda filled: {"server": filled.server.url},
    "POST /api/models/connect": lambda filled: {"server": filled.server.url, "key": filled.server.owner, "model": "m"},
    "PATCH /api/account": lambda _: {"name": "Default"},
    "POST /api/budgets": lambda _: {"name": "all", "scope": "account", "runs": 1_000_000},
    "POST /api/budgets/allow": lambda _: {"name": "all"},
    "POST /api/users": lambda filled: {"name": filled.name()},
    "POST /api/tokens": lambda _: {"kind": "owner", "name": "x"},
    "POST /api/agents": lambda filled: {"id": filled.name()},
    "POST /api/sessions": lambda _: {},
    "POST /api/sessions/active": lambda _: {"clientInstanceId": "tab", "sessionId": f"{MAIN}:v1"},
    "PATCH /api/sessions/{key}": lambda _: {"label": "x"},
    "POST /api/sessions/{key}/send": lambda _: {"message": "hi"},
    "POST /api/runs/{id}/replay": lambda _: {},
    "POST /api/runs": lambda _: {"message": "hi", "sessionKey": "agent:main:web:shared_conversation"},
    "POST /api/chat": lambda _: {"text": "hi"},
    "POST /api/reindex": lambda _: {"kind": "all"},
    "POST /api/spaces": lambda filled: {"name": filled.name()},
    "PATCH /api/spaces/{id}/connectivity": lambda _: {"connectivity": {"space-default": True}},
    "POST /api/topics": lambda filled: {"name": filled.name()},
    "POST /api/hooks/agent": lambda _: {"message": "hi"},
    "POST /api/hooks/wake": lambda _: {"text": "hi"},
    "POST /api/hooks/claude": lambda _: {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hi"},
    "POST /api/tasks": lambda _: {"title": "Work"},
    "PATCH /api/tasks/{id}": lambda _: {"title": "Other work"},
    "POST /api/tasks/{id}/status": lambda _: {"status": "in_progress"},
    "POST /api/tasks/{id}/assign": lambda _: {"agentIds": ["main"]},
    "POST /api/tasks/{id}/messages": lambda _: {"content": "hi"},
    "POST /api/tasks/{id}/seen": lambda _: {"seq": 1},
    "POST /api/tasks/reorder": lambda filled: {"orderedIds": [filled.task]},
    "POST /api/log": lambda filled: {"type": "conversation", "content": filled.name()},
    "POST /api/ingest": lambda filled: {"type": "conversation", "content": filled.name()},
    "POST /api/goals": lambda filled: {"sessionId": MAIN, "name": filled.name()},
    "POST /api/memory": _fact,
    "PATCH /api/memory/{id}": lambda filled: {"content": filled.name()},
    "POST /api/memory/{id}/promote": lambda _: {"reason": "all should know"},
    "POST /api/classifier/run": lambda _: {"limit": 1},
    "POST /api/digests/run": lambda _: {},
    "POST /api/plans/enable": lambda _: {"sessionId": PLANNING},
    "POST /api/plans/disable": lambda _: {"sessionId": PLANNING},
    "POST /api/auto/start": lambda _: {"sessionId": f"{MAIN}:v1", "intervalSeconds": 604_800},
    "POST /api/schedules": lambda _: {**DAILY, "sessionId": f"{MAIN}:v1"},
}
QUERIES: dict[str, Callable[[World], Json]] = {
    "GET /api/sessions/active": lambda _: {"clientInstanceId": "tab"},
    "GET /api/auto/runs": lambda _: {"sessionId": f"{MAIN}:v1"},
    "GET /api/schedules": lambda _: {"sessionId": f"{MAIN}:v1"},
    "DELETE /api/budgets": lambda _: {"name": "all"},
    "GET /api/goals": lambda _: {"sessionId": MAIN},
    "GET /api/memory": lambda _: {"sessionId": MAIN},
    "GET /api/memory/search": lambda _: {"sessionId": MAIN, "q": "x"},
    "GET /api/search": lambda _: {"q": "x"},
    "GET /api/spaces/allowed": lambda _: {"spaceId": "space-default"},
    "GET /api/classifier/session-routing": lambda _: {"sessionKey": "discord-4711"},
    "GET /api/plans": lambda _: {"sessionId": MAIN},
    "GET /api/plans/{id}": lambda _: {"sessionId": MAIN},
    "GET /api/runs/{id}/wait": lambda _: {"timeoutSeconds": "0"},
    "GET /api/runs/{id}/receipt/compare": lambda filled: {"with": filled.run},
}
FAR = {"GET /metrics": {"X-Forwarded-For": "192.0.2.1"}}


async def asked(filled: World, name: str, kind: str, has_body: bool) -> int:
    """Ask one endpoint as one kind of caller; return the status."""
    method, path = name.split(" ")
    kept = filled.task if path.startswith("/api/tasks/") else filled.run
    ids = {"/api/schedules/{id}": filled.schedule, "/api/attachments/{id}": filled.file}
    ids["/api/mcp/servers/{name}/test"] = MCP_SERVER
    ids |= dict.fromkeys(("/api/agents/{id}", "/api/agents/{id}/prompt"), "main")
    ids["/api/auto/runs/{id}"] = filled.auto
    fixed = ids.get(path, kept)
    subject, body = await NEW[name](filled, kind) if name in NEW else (MAIN if "{key}" in path else fixed, None)
    body = BODIES[name](filled) if name in BODIES else body
    query = QUERIES[name](filled) if name in QUERIES else {}
    where = re.sub(r"{(id|key|name)}", lambda _: subject, path)
    # One endpoint hands out a cookie, which would speak for every later caller.
    filled.clients[kind].cookies.clear()
    files = {"file": b"x"} if name == "POST /api/attachments" else None
    async with filled.clients[kind].stream(
        method, where, params=query, json=body if has_body else None, files=files, headers=FAR.get(name)
    ) as answer:
        return answer.status_code


@requirement("P.rights")
async def test_every_endpoint_answers_exactly_those_it_should(filled: World) -> None:
    endpoints = {f"{one.method} {one.path}": one for one in SERVED}
    assert endpoints.keys() == ENDPOINTS.keys(), "every endpoint has a row, and every row an endpoint"
    wrong = []
    for name, kind in itertools.product(ENDPOINTS, KINDS):
        status = await asked(filled, name, kind, endpoints[name].body is not None)
        assert status not in (400, 405, 415, 422), f"{name} was asked wrongly: {status}"
        if VERDICTS.get(status, MAY) != ENDPOINTS[name][kind]:
            wrong.append(f"{name} as {kind}: {status}, expected {ENDPOINTS[name][kind]}")
    assert wrong == []


TOOL_CALLS: dict[str, Json] = {
    "sessions_history": {"sessionKey": "current"},
    "sessions_send": {"sessionKey": "current", "message": "hi", "timeoutSeconds": 0},
    "sessions_spawn": {"task": "x"},
    "artifact_add": {"text": "x"},
    "goal_create": {"name": "x"},
    "memory_add": {"content": "x", "type": "fact"},
    "memory_search": {"query": "x"},
    "plan_set_content": {"markdown": "x"},
    "decline": {"reason": "no"},
    "request_input": {"question": "what?"},
}


async def over_agent(client: httpx.AsyncClient, tool: str) -> Verdict:
    """Call a tool over /agent."""
    answer = await client.post(f"/agent/{tool}", json=TOOL_CALLS.get(tool, {}))
    return VERDICTS.get(answer.status_code, MAY)


async def over_mcp(client: httpx.AsyncClient, tool: str) -> Verdict:
    """Call a tool over MCP, where a tool that is not offered is a result."""
    params = {"name": tool, "arguments": TOOL_CALLS.get(tool, {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await client.post("/mcp", json=body, headers={"Accept": "application/json"})
    if answer.status_code != 200:
        return VERDICTS[answer.status_code]
    return NEVER if "tool_not_allowed" in answer.text else MAY


@requirement("P.rights")
@pytest.mark.parametrize("call", [over_agent, over_mcp])
async def test_every_tool_acts_for_exactly_those_it_should(
    filled: World, call: Callable[[httpx.AsyncClient, str], Awaitable[Verdict]]
) -> None:
    assert {tool.name for tool in CATALOG.offered()} == TOOLS.keys(), "every tool has a row, and every row a tool"
    wrong = []
    for tool, kind in itertools.product(TOOLS, KINDS):
        client = filled.clients[kind]
        if kind == "run":
            # Some tools end the run of their caller.
            client = filled.server.client(await filled.run_token(await filled.lane()))
        told = await call(client, tool)
        if told != TOOLS[tool][kind]:
            wrong.append(f"{tool} as {kind}: {told}, expected {TOOLS[tool][kind]}")
        if kind == "run":
            await client.aclose()
    assert wrong == []


PARTS = {"{agent}": "main", "{key:path}": "x", "{path:path}": "favicon.svg", "{secret}": "x"}


def routes_of(server: HttpServer) -> set[str]:
    """Return every route of the server as method and path; * for all methods."""
    (index,) = server.assembly.app.routes
    assert isinstance(index, RouteIndex)
    found = set()
    for route in index.routes:
        assert isinstance(route, Route | WebSocketRoute)
        methods = {"WS"} if isinstance(route, WebSocketRoute) else (route.methods or {"*"}) - {"HEAD"}
        found |= {f"{method} {route.path}" for method in methods}
    return found


async def test_every_route_has_a_row_and_every_row_a_route(filled: World) -> None:
    rows = [*ENDPOINTS, *PAGES, *RESPONSES, *CHAT, *a2a_routes(), *ROUTES_OF_METHODS, *ROUTES_OF_TOOLS]
    assert len(rows) == len(set(rows))
    assert routes_of(filled.server) == set(rows)


@requirement("P.rights")
async def test_cards_pages_and_the_list_of_tools_are_shown_to_exactly_those_they_should(filled: World) -> None:
    wrong = []
    for name, kind in itertools.product(PAGES, KINDS):
        method, path = name.split(" ")
        for part, value in PARTS.items():
            path = path.replace(part, value)
        answer = await filled.clients[kind].request(method, path, json={} if method == "POST" else None)
        if VERDICTS.get(answer.status_code, MAY) != PAGES[name][kind]:
            wrong.append(f"{name} as {kind}: {answer.status_code}, expected {PAGES[name][kind]}")
    assert wrong == []


def test_a_rule_says_something_of_every_kind() -> None:
    tables = (ENDPOINTS, TOOLS, A2A, PAGES, RESPONSES, CHAT)
    rules: list[Rights] = [rule for table in tables for rule in table.values()]
    assert all(tuple(rule) == KINDS for rule in rules)
