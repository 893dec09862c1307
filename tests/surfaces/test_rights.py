"""The rights of every kind of token, on every endpoint, tool and A2A method of a running server, against one table."""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from carrel.access import NewToken, mint_token
from carrel.surfaces.a2a.legacy.jsonrpc import LEGACY_METHODS
from carrel.surfaces.a2a.operations import operations_of
from carrel.surfaces.api.endpoints import every_endpoint
from carrel.tools import CATALOG
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, send_and_wait, start
from tests.surfaces.rights_table import (
    A2A,
    CALLERS_OF_AGENTS,
    ENDPOINTS,
    HIDDEN,
    KINDS,
    LOGIN,
    MAY,
    NEVER,
    TOOLS,
    Rights,
    Verdict,
)

pytestmark = pytest.mark.anyio
MAIN = "agent:main:main"
DAILY = {"type": "message", "message": "hi", "cron": "0 0 1 1 *", "sessionId": MAIN}
HOOK = "https://example.com/hook"


class World:
    """A server with an account that has something of everything, and a client for every kind of token."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.clients: dict[str, httpx.AsyncClient] = {}
        self.user = self.run = self.schedule = ""
        self.notifications: dict[str, str] = {}
        self._numbers = itertools.count(1)

    @property
    def owner(self) -> httpx.AsyncClient:
        """The owner's client."""
        return self.clients["owner"]

    def name(self) -> str:
        """Return a name that was not used yet."""
        return f"name-{next(self._numbers)}"

    async def furnish(self, stack: AsyncExitStack) -> None:
        """Create the tokens, and what is only read."""

        async def enter(kind: str, token: str | None) -> None:
            self.clients[kind] = await stack.enter_async_context(self.server.client(token))

        server = self.server
        await enter("owner", server.owner)
        await enter("another account's owner", server.other_owner)
        await enter("none", None)
        await enter("wrong", "crl_owner_no_such")
        self.user = (await self.make("/api/users", "user", name="Ada"))["id"]
        await enter("user", await server.token(self.owner, kind="user", userId=self.user))
        await enter("agent", await server.token(self.owner, kind="agent", agentId="main"))
        await enter("client", await server.token(self.owner, kind="client", agentIds=["main"]))
        await enter("expired", await self._mint(NewToken(kind="owner", name="old", expires_at=1)))
        await enter("revoked", await self._revoked())
        self.run = (await send_and_wait(self.owner, "fail here"))["id"]
        await send_and_wait(self.clients["user"], "fail here too")
        for kind in ("user", "owner"):
            listed = (await self.clients[kind].get("/api/notifications")).json()["notifications"]
            self.notifications[kind] = listed[0]["id"]
        self.schedule = (await self.make("/api/schedules", "schedule", **DAILY))["id"]
        await enter("run", await self.run_token(MAIN))

    async def make(self, path: str, what: str, **body: Any) -> Json:
        """Create something of the account."""
        answer = await self.owner.post(path, json=body)
        assert answer.status_code == 201, answer.text
        made: Json = answer.json()[what]
        return made

    async def run_token(self, key: str) -> str:
        """Return the token of a new run that is under way in a lane."""
        gate = self.name()
        held = await start(self.owner, f"hold {gate}", sessionKey=key)
        await self.server.agent.reached(gate)
        return await self._mint(NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"]))

    async def lane(self) -> str:
        """Return the key of a new lane of a Task."""
        return str((await send_and_wait(self.owner, "hello", taskId=self.name()))["sessionKey"])

    async def asking(self) -> str:
        """Return the id of a new run that waits for an answer."""
        return str((await send_and_wait(self.owner, "ask what?", taskId=self.name()))["id"])

    async def _mint(self, new: NewToken) -> str:
        access = await self.server.access_of()
        return (await self.server.db.write(lambda tx: mint_token(tx, access, new)))[1]

    async def _revoked(self) -> str:
        made = (await self.owner.post("/api/tokens", json={"kind": "owner", "name": "x"})).json()
        (await self.owner.delete(f"/api/tokens/{made['token']['id']}")).raise_for_status()
        return str(made["secret"])


@pytest.fixture
async def world(sqlite_url: str) -> AsyncIterator[World]:
    """The furnished server."""
    async with open_http_server(sqlite_url) as server, AsyncExitStack() as stack:
        built = World(server)
        await built.furnish(stack)
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
async def _a_user(world: World, _kind: str) -> Request:
    return (await world.make("/api/users", "user", name=world.name()))["id"], {"name": "other"}


@request_of("DELETE /api/tokens/{id}")
async def _a_token(world: World, _kind: str) -> Request:
    return (await world.make("/api/tokens", "token", kind="owner", name="x"))["id"], None


@request_of("PATCH /api/agents/{id}", "DELETE /api/agents/{id}")
async def _an_agent(world: World, _kind: str) -> Request:
    return (await world.make("/api/agents", "agent", id=world.name()))["id"], {"name": "other"}


@request_of("PATCH /api/schedules/{id}", "DELETE /api/schedules/{id}", "POST /api/schedules/{id}/run")
async def _a_schedule(world: World, _kind: str) -> Request:
    made = await world.make("/api/schedules", "schedule", **{**DAILY, "sessionId": await world.lane()})
    return made["id"], {"enabled": False}


@request_of(
    "PATCH /api/sessions/{key}", "DELETE /api/sessions/{key}", "POST /api/sessions/{key}/send",
    "POST /api/sessions/{key}/archive", "POST /api/sessions/{key}/unarchive", "POST /api/sessions/{key}/reset",
    "POST /api/sessions/{key}/stop",
)  # fmt: skip
async def _a_lane(world: World, _kind: str) -> Request:
    return await world.lane(), None


@request_of("POST /api/runs/{id}/cancel", "POST /api/runs/{id}/answer")
async def _a_waiting_run(world: World, _kind: str) -> Request:
    return await world.asking(), {"text": "that"}


@request_of("POST /api/runs/{id}/retry", "POST /api/runs/{id}/announce")
async def _a_failed_run(world: World, _kind: str) -> Request:
    return str((await send_and_wait(world.owner, "fail", taskId=world.name()))["id"]), None


@request_of("POST /api/notifications/{id}/read")
async def _a_notification(world: World, kind: str) -> Request:
    return world.notifications.get(kind, world.notifications["owner"]), None


BODIES: dict[str, Callable[[World], Any]] = {
    "POST /api/auth/session": lambda world: {"token": world.server.owner},
    "POST /api/accounts": lambda world: {"name": world.name()},
    "PATCH /api/account": lambda _: {"name": "Default"},
    "POST /api/users": lambda world: {"name": world.name()},
    "POST /api/tokens": lambda _: {"kind": "owner", "name": "x"},
    "POST /api/agents": lambda world: {"id": world.name()},
    "POST /api/sessions": lambda _: {},
    "POST /api/sessions/active": lambda _: {"clientInstanceId": "tab", "sessionId": f"{MAIN}:v1"},
    "PATCH /api/sessions/{key}": lambda _: {"label": "x"},
    "POST /api/sessions/{key}/send": lambda _: {"message": "hi"},
    "POST /api/runs": lambda _: {"message": "hi", "taskId": "shared"},
    "POST /api/chat": lambda _: {"text": "hi"},
    "POST /api/schedules": lambda _: {**DAILY, "sessionId": f"{MAIN}:v1"},
}
QUERIES: dict[str, Callable[[World], Json]] = {
    "GET /api/sessions/active": lambda _: {"clientInstanceId": "tab"},
    "GET /api/schedules": lambda _: {"sessionId": f"{MAIN}:v1"},
    "GET /api/runs/{id}/wait": lambda _: {"timeoutSeconds": "0"},
    "GET /api/runs/{id}/receipt/compare": lambda world: {"with": world.run},
}
FAR = {"GET /metrics": {"X-Forwarded-For": "192.0.2.1"}}
VERDICTS: dict[int, Verdict] = {401: LOGIN, 403: NEVER, 404: HIDDEN}


async def asked(world: World, name: str, kind: str, has_body: bool) -> int:
    """Ask one endpoint as one kind of caller; return the status."""
    method, path = name.split(" ")
    fixed = {"/api/schedules/{id}": world.schedule, "/api/agents/{id}": "main"}.get(path, world.run)
    subject, body = await NEW[name](world, kind) if name in NEW else (MAIN if "{key}" in path else fixed, None)
    body = BODIES[name](world) if name in BODIES else body
    query = QUERIES[name](world) if name in QUERIES else {}
    where = path.replace("{id}", subject).replace("{key}", subject)
    # One endpoint hands out a cookie, which would speak for every later caller.
    world.clients[kind].cookies.clear()
    async with world.clients[kind].stream(
        method, where, params=query, json=body if has_body else None, headers=FAR.get(name)
    ) as answer:
        return answer.status_code


@requirement("P.rights")
async def test_every_endpoint_answers_exactly_those_it_should(world: World) -> None:
    endpoints = {f"{one.method} {one.path}": one for one in every_endpoint()}
    assert endpoints.keys() == ENDPOINTS.keys(), "every endpoint has a row, and every row an endpoint"
    wrong = []
    for name, kind in itertools.product(ENDPOINTS, KINDS):
        status = await asked(world, name, kind, endpoints[name].body is not None)
        assert status not in (400, 405, 415, 422), f"{name} was asked wrongly: {status}"
        if VERDICTS.get(status, MAY) != ENDPOINTS[name][kind]:
            wrong.append(f"{name} as {kind}: {status}, expected {ENDPOINTS[name][kind]}")
    assert wrong == []


TOOL_CALLS: dict[str, Json] = {
    "sessions_history": {"sessionKey": "current"},
    "sessions_send": {"sessionKey": "current", "message": "hi", "timeoutSeconds": 0},
    "sessions_spawn": {"task": "x"},
    "artifact_add": {"text": "x"},
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
    world: World, call: Callable[[httpx.AsyncClient, str], Awaitable[Verdict]]
) -> None:
    assert {tool.name for tool in CATALOG.offered()} == TOOLS.keys(), "every tool has a row, and every row a tool"
    wrong = []
    for tool, kind in itertools.product(TOOLS, KINDS):
        client = world.clients[kind]
        if kind == "run":
            # Some tools end the run of their caller.
            client = world.server.client(await world.run_token(await world.lane()))
        told = await call(client, tool)
        if told != TOOLS[tool][kind]:
            wrong.append(f"{tool} as {kind}: {told}, expected {TOOLS[tool][kind]}")
        if kind == "run":
            await client.aclose()
    assert wrong == []


def a2a_params(method: str, task: str, text: str) -> Json:
    """Return the parameters of a method in its version; `task` is the task that it is about."""
    is_old = "/" in method
    if method.lower().replace("/", "").startswith(("sendmessage", "sendstreaming", "message")):
        part = {"kind": "text", "text": text} if is_old else {"text": text}
        return {"message": {"messageId": text, "role": "user" if is_old else "ROLE_USER", "parts": [part]}}
    if "ushNotificationConfig" not in method:
        return {} if method in ("ListTasks", "tasks/list") or "Card" in method else {"id": task}
    if is_old:
        config = {"pushNotificationConfig": {"url": HOOK, "id": "hook"}, "taskId": task}
        return config if method.endswith("set") else {"id": task, "pushNotificationConfigId": "hook"}
    return {"taskId": task, "id": "hook"} | ({"url": HOOK} if method.startswith("Create") else {})


async def over_a2a(client: httpx.AsyncClient, method: str, task: str, text: str) -> tuple[Verdict, str]:
    """Call a method; return the verdict and the beginning of the answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": a2a_params(method, task, text)}
    version = {"A2A-Version": "0.3" if "/" in method else "1.0"}
    async with client.stream("POST", "/a2a/main", json=body, headers=version) as answer:
        told = ""
        async for chunk in answer.aiter_text():
            told += chunk
            if "event-stream" in answer.headers["content-type"]:
                break
        if answer.status_code != 200:
            return VERDICTS[answer.status_code], told
        return HIDDEN if "-32001" in told else MAY, told


async def task_of(world: World, kind: str) -> str:
    """Return a new task of a caller, which waits for an answer and has a push configuration."""
    _, told = await over_a2a(world.clients[kind], "SendMessage", "", f"ask {world.name()}")
    task = str(json.loads(told)["result"]["task"]["id"])
    await over_a2a(world.clients[kind], "CreateTaskPushNotificationConfig", task, "")
    return task


@requirement("P.rights")
async def test_every_a2a_method_answers_exactly_those_it_should(world: World) -> None:
    methods = {*operations_of(world.server.house), *LEGACY_METHODS}
    assert methods == A2A.keys(), "every method has a row, and every row a method"
    tasks = {kind: await task_of(world, kind) for kind in KINDS if CALLERS_OF_AGENTS[kind] == MAY}
    wrong = []
    for method, kind in itertools.product(A2A, KINDS):
        if kind in tasks and "cancel" in method.lower():
            tasks[kind] = await task_of(world, kind)
        told, text = await over_a2a(world.clients[kind], method, tasks.get(kind, "run_none"), world.name())
        if told != A2A[method][kind]:
            wrong.append(f"{method} as {kind}: {text[:200]}, expected {A2A[method][kind]}")
        other = tasks["user" if kind == "owner" else "owner"]
        if kind in tasks and other in str(a2a_params(method, other, "")):
            told, text = await over_a2a(world.clients[kind], method, other, world.name())
            if told != HIDDEN:
                wrong.append(f"{method} as {kind} for the task of another: {text[:200]}")
    assert wrong == []


def test_a_rule_says_something_of_every_kind() -> None:
    rules: list[Rights] = [*ENDPOINTS.values(), *TOOLS.values(), *A2A.values()]
    assert all(tuple(rule) == KINDS for rule in rules)
