"""Accounts are isolated: no endpoint shows or changes anything of another account, whatever ids it is called with.

Everything in account A is marked, in its ids and its texts. Account B has a twin of all of it: the same keys, slugs and
ids, with texts of its own. The owner of B then calls every endpoint with these ids; B must see nothing of A, and A must
stay unchanged.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carrel.surfaces.api.endpoint import ENDPOINTS, Endpoint
from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer
from tests.harness.twins import copy_rows
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait

# In A's ids, which B may guess and send; and in A's texts, which B never sends and never gets.
MARK = "zebra"
SECRET = "quagga"
# Stands in B's texts for it.
TWIN = "okapi!"
TASK = f"{MARK}-task"
KEY = f"agent:{MARK}:web:{MARK}_conversation"
SCOPE = f"session:web:{MARK}_conversation"
# Endpoints whose answer is of the server and not of any account; a stream has a test of its own.
NOT_WALKED = {"/healthz", "/readyz", "/api/openapi.json", "/api/stream", "/metrics"}
# What a request needs to be understood at all; ids are A's own.
BODIES: dict[str, list[dict[str, Any]]] = {
    "/api/auth/session": [{"token": "crl_owner_1_2"}],
    "/api/accounts": [{"name": "x"}],
    "/api/account": [{"settings": {"defaultAgentId": "{agent}"}}, {"settings": {"orchestratorAgentId": "{agent}"}}],
    "/api/users": [{"name": "B's own"}],
    "/api/tokens": [
        {"kind": "agent", "name": "x", "agentId": "{agent}"},
        {"kind": "user", "name": "x", "userId": "{user}"},
        {"kind": "client", "name": "x", "agentIds": ["{agent}"]},
    ],
    "/api/budgets": [
        {"name": "x", "scope": "agent:{agent}", "runs": 1},
        {"name": "x", "scope": "task:{task}", "runs": 1},
        {"name": "x", "scope": "session:{key}", "runs": 1},
    ],
    "/api/budgets/allow": [{"name": "{agent}"}],
    "/api/agents": [{"id": "b-own"}],
    "/api/hooks/agent": [{"agentId": "{agent}", "message": "hi"}],
    "/api/hooks/claude": [{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hi"}],
    "/api/hooks/wake": [{"agentId": "{agent}", "text": "hi"}],
    "/api/hooks/in/{name}/test": [{}],
    "/api/runs": [{"agentId": "{agent}", "message": "hi"}, {"sessionKey": "{key}", "message": "hi"}],
    "/api/runs/{id}/answer": [{"text": "hi"}],
    "/api/runs/{id}/steer": [{"message": "hi"}],
    "/api/runs/{id}/replay": [{}],
    "/api/auto/start": [{"sessionId": "{key}"}, {"sessionId": "{key}", "taskId": "{task}"}],
    "/api/auto/stop": [{"runId": "{auto}"}, {"sessionId": "{key}"}],
    "/api/schedules": [{"type": "message", "message": "hi", "cron": "0 0 1 1 *", "sessionId": "{key}"}],
    "/api/schedules/{id}": [{"enabled": False}],
    "/api/tasks": [
        {"title": "B's own", "parentId": "{task}", "dependencies": ["{task}"], "assignedUserIds": ["{user}"]},
        {"title": "B's own", "id": "{task}"},
    ],
    "/api/goals": [{"sessionId": "{key}", "name": "hi"}],
    "/api/goals/{id}": [{"name": "hi"}, {"status": "cancelled"}],
    "/api/classifier/session-routing": [{"sessionKey": "{key}", "topicId": "{topic}"}],
    "/api/classifier/replay": [{"anchorLogId": "{entry}"}],
    "/api/digests/run": [{"topicId": "{topic}"}, {"taskId": "{task}"}],
    "/api/memory": [
        {"scope": SCOPE, "type": "fact", "content": "hi"},
        {"scope": "task:{task}", "type": "fact", "content": "hi", "supersedes": "{memory}"},
    ],
    "/api/memory/{id}": [{"title": "hi"}],
    "/api/memory/{id}/promote": [{"reason": "hi"}],
    "/api/plans/enable": [{"sessionId": KEY}],
    "/api/plans/disable": [{"sessionId": KEY}],
    "/api/plans/{id}": [{"sessionId": KEY, "markdown": "hi", "tasks": [{"title": "hi", "dependencies": ["{task}"]}]}],
    "/api/plans/{id}/approve": [{"sessionId": KEY}],
    "/api/plans/{id}/cancel": [{"sessionId": KEY}],
    "/api/plans/{id}/resume": [{"sessionId": KEY}],
    "/api/tasks/reorder": [{"orderedIds": ["{task}"]}],
    "/api/tasks/{id}": [{"assignedAgentIds": ["{agent}"]}, {"status": "in_progress"}],
    "/api/tasks/{id}/status": [{"status": "review"}],
    "/api/tasks/{id}/assign": [{"userIds": ["{user}"], "agentIds": ["{agent}"]}],
    "/api/tasks/{id}/messages": [{"content": f"@{MARK} hi", "attachmentIds": ["{file}"]}],
    "/api/tasks/{id}/seen": [{"seq": 1_000_000}],
    "/api/sessions": [{"agentId": "{agent}"}],
    "/api/sessions/active": [{"channelType": "web", "clientInstanceId": "{instance}", "sessionId": "{conversation}"}],
    "/api/sessions/{key}/send": [{"message": "hi"}, {"message": "hi", "steer": True}],
    "/api/sessions/{key}/fork": [{"entryId": "{entry}"}],
    "/api/chat": [
        {"text": "hi", "sessionKey": "{key}"},
        {"text": "hi", "sessionId": "{session}"},
        {"text": "hi", "agentId": "{agent}"},
        {"text": "hi", "answersRunId": "{run}"},
    ],
}


class Everything(msgspec.Struct, frozen=True):
    """The ids of all that account A has, by what they are ids of."""

    ids: dict[str, str]

    def fill(self, body: Any) -> Any:
        """A body with A's ids in it."""
        text = msgspec.json.encode(body).decode()
        for name, value in self.ids.items():
            text = text.replace("{" + name + "}", value)
        return msgspec.json.decode(text)


async def furnish(client: httpx.AsyncClient) -> Everything:
    """Put one of everything into an account, all of it marked."""
    (await client.post("/api/agents", json={"id": MARK, "name": SECRET, "description": SECRET})).raise_for_status()
    user = (await client.post("/api/users", json={"name": SECRET, "slug": SECRET})).json()["user"]["id"]
    token = (await client.post("/api/tokens", json={"kind": "agent", "name": SECRET, "agentId": MARK})).json()["token"][
        "id"
    ]
    settings_of_a = {"name": SECRET, "settings": {"briefing": SECRET, "defaultAgentId": MARK}}
    (await client.patch("/api/account", json=settings_of_a)).raise_for_status()
    said = {"text": f"{SECRET} said", "sessionKey": KEY, "clientInstanceId": f"{MARK}_instance"}
    run = (await client.post("/api/chat", json=said)).json()["runId"]
    (await client.get(f"/api/runs/{run}/wait")).raise_for_status()
    waiting = (await client.post("/api/runs", json={"sessionKey": KEY, "message": f"ask {SECRET}?"})).json()["runId"]
    (await client.get(f"/api/runs/{waiting}/wait")).raise_for_status()
    failed = (await client.post("/api/runs", json={"sessionKey": KEY, "message": f"fail {SECRET}"})).json()["runId"]
    (await client.get(f"/api/runs/{failed}/wait")).raise_for_status()
    told = (await client.get("/api/notifications")).json()["notifications"]
    said_again = {"type": "message", "message": SECRET, "cron": "0 0 1 1 *", "sessionId": KEY}
    schedule = (await client.post("/api/schedules", json=said_again)).json()["schedule"]["id"]
    file = await furnish_tasks(client)
    aimed = {"sessionId": KEY, "name": SECRET, "description": SECRET, "metadata": {"x": SECRET}}
    goal = (await client.post("/api/goals", json=aimed)).json()["goal"]["id"]
    memory = await furnish_memory(client)
    plan = await furnish_plan(client)
    auto = await furnish_auto(client)
    session = (await client.get(f"/api/runs/{run}")).json()["run"]["sessionId"]
    me = (await client.get("/api/auth/me")).json()
    return Everything(
        {
            "agent": MARK,
            "user": user,
            "token": token,
            "run": run,
            "waiting": waiting,
            "notification": told[0]["id"],
            "schedule": schedule,
            "task": TASK,
            "file": file,
            "memory": memory,
            "goal": goal,
            "plan": plan,
            "auto": auto,
            "key": KEY,
            "session": session,
            "conversation": f"{MARK}_conversation",
            "instance": f"{MARK}_instance",
            "scope": SCOPE,
            "account": me["account"]["id"],
        }
    )


async def furnish_tasks(client: httpx.AsyncClient) -> str:
    """Put a task with a thread and a session into an account, and an orchestrator chat; return a file's id."""
    new = {"id": TASK, "title": SECRET, "description": SECRET, "tags": [SECRET], "metadata": {"x": SECRET}}
    (await client.post("/api/tasks", json=new)).raise_for_status()
    file = (await client.post("/api/attachments", files={"file": (SECRET, SECRET.encode())})).json()["attachment"]["id"]
    for name in (TASK, "orchestrator-chat"):
        if name != TASK:
            orchestrator = {"settings": {"orchestratorAgentId": MARK}}
            (await client.patch("/api/account", json=orchestrator)).raise_for_status()
        files = {"attachmentIds": [file] if name == TASK else []}
        said = await client.post(f"/api/tasks/{name}/messages", json={"content": f"@{MARK} {SECRET}", **files})
        (await client.get(f"/api/runs/{said.json()['notified'][0]['runId']}/wait")).raise_for_status()
    return str(file)


async def furnish_memory(client: httpx.AsyncClient) -> str:
    """Keep something of a session, a task and the whole account; return the id of the first."""
    kept = {"type": "fact", "content": SECRET, "title": SECRET, "tags": [SECRET]}
    items = [(await client.post("/api/memory", json={"scope": scope, **kept})).json()["item"]["id"]
             for scope in (SCOPE, f"task:{TASK}")]  # fmt: skip
    (await client.post(f"/api/memory/{items[0]}/promote", json={"reason": SECRET})).raise_for_status()
    await send_and_wait(client, f"{SECRET} again", sessionKey=KEY)
    return str(items[0])


async def furnish_plan(client: httpx.AsyncClient) -> str:
    """Write a plan of a session in plan mode; return its id."""
    planning = (await client.post("/api/plans/enable", json={"sessionId": KEY})).json()
    content = {"markdown": SECRET, "title": SECRET, "tasks": [{"title": SECRET, "description": SECRET}]}
    path = f"/api/plans/{planning['activePlanId']}"
    (await client.put(path, json={"sessionId": KEY, **content})).raise_for_status()
    return str(planning["activePlanId"])


async def furnish_auto(client: httpx.AsyncClient) -> str:
    """Start an auto run whose first tick has ended and whose next one is far off; return its id."""
    new = {"sessionId": KEY, "text": SECRET, "intervalSeconds": 604_800}
    auto: dict[str, Any] = (await client.post("/api/auto/start", json=new)).json()["run"]
    async with asyncio.timeout(SECONDS_MAX):
        # Its next tick is known once the first has ended.
        while auto["tickCount"] == 0 or auto["nextTickAt"] is None:
            for run in (await client.get("/api/runs", params={"autoRunId": auto["runId"]})).json()["runs"]:
                (await client.get(f"/api/runs/{run['id']}/wait")).raise_for_status()
            auto = (await client.get(f"/api/auto/runs/{auto['runId']}")).json()["run"]
    return str(auto["runId"])


async def look(client: httpx.AsyncClient) -> list[Any]:
    """All that an account shows of itself, without what a mere look changes."""
    paths = ("/api/agents", "/api/users", "/api/tokens", "/api/account", "/api/sessions", "/api/runs", "/api/changes")
    tasks = (
        "/api/tasks?includeArchived=1",
        *(f"/api/tasks/{TASK}/{view}" for view in ("thread", "history", "sessions")),
    )
    kept = (f"/api/memory?sessionId={KEY}&taskId={TASK}", f"/api/memory/search?q={SECRET}&sessionId={KEY}")
    own = (
        *kept,
        "/api/notifications",
        f"/api/sessions/{KEY}/history",
        f"/api/schedules?sessionId={KEY}",
        f"/api/goals?sessionId={KEY}",
        f"/api/plans?sessionId={KEY}",
        f"/api/auto/runs?sessionId={KEY}&includeEnded=1",
    )
    shown = [(await client.get(path)).json() for path in (*paths, *own, *tasks)]
    for token in shown[2]["tokens"]:
        token.pop("lastUsedAt")
    return shown


async def share(server: HttpServer, *more: tuple[str, str]) -> None:
    """Give B a twin of everything that A has; `more` are further texts to replace."""
    a, b = await server.access_of(), await server.access_of(server.other_owner)
    pairs = ((SECRET, TWIN), (a.actor_id, b.actor_id), *more)

    def twin(column: str, value: Any) -> Any:
        for old, new in pairs:
            if isinstance(value, str):
                value = value.replace(old, new)
            elif isinstance(value, bytes):
                value = value.replace(old.encode(), new.encode())
        return value

    await server.db.write(lambda tx: copy_rows(tx, a, b, twin))


def places(endpoint: Endpoint, ids: dict[str, str]) -> list[str]:
    """The endpoint's path with every id of A in the place of its parameter."""
    parameter = "{id}" if "{id}" in endpoint.path else "{key}" if "{key" in endpoint.path else None
    if parameter is None:
        return [endpoint.path]
    path = endpoint.path.replace("{key:path}", "{key}")
    return [path.replace(parameter, value) for value in ids.values()]


async def ask(client: httpx.AsyncClient, endpoint: Endpoint, path: str, everything: Everything) -> list[httpx.Response]:
    """Ask one path in every way there is for its endpoint: with A's ids in the query, then in the body."""
    template = endpoint.path.replace("{key:path}", "{key}")
    bodies = [everything.fill(body) for body in BODIES.get(template, [{}])] if endpoint.body is not None else [None]
    fields = [field.encode_name for field in msgspec.structs.fields(endpoint.query)]
    queries: list[dict[str, str]] = [{}] + [
        {name: value} for name in fields if name in WORDS for value in (everything.ids[WORDS[name]],)
    ]
    needed = {"clientInstanceId": everything.ids["instance"]} if "clientInstanceId" in fields else {}
    needed |= {"sessionId": KEY} if endpoint.path in ("/api/memory/search", "/api/plans/{id}") else {}
    needed |= {"with": everything.ids["run"]} if "with" in fields else {}
    return [
        await client.request(endpoint.method, path, params={**needed, **query}, json=body)
        for query in queries
        for body in bodies
    ]


WORDS = {
    "sessionKey": "key",
    "sessionId": "session",
    "agentId": "agent",
    "taskId": "task",
    "goalId": "goal",
    "q": "agent",
    "scope": "scope",
}


@requirement("P.account.wall")
async def test_no_endpoint_reaches_across_the_wall(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as mine, server.client(server.other_owner) as theirs:
        everything = await furnish(mine)
        before = await look(mine)
        await share(server)
        walked = own = 0
        # What deletes comes last, or the rest would find nothing.
        for endpoint in sorted(ENDPOINTS, key=lambda endpoint: endpoint.method == "DELETE"):
            if endpoint.path in NOT_WALKED:
                continue
            for path in places(endpoint, everything.ids):
                for answer in await ask(theirs, endpoint, path, everything):
                    walked += 1
                    own += TWIN in answer.text
                    told = f"{endpoint.method} {path} {answer.request.content!r}: {answer.status_code} {answer.text}"
                    assert answer.status_code < 500, told
                    assert SECRET not in answer.text, told
        assert walked > 200
        assert own > 40, "B reaches what is its own under these ids"
        assert await look(mine) == before


@requirement("P.account.wall")
@settings(max_examples=60, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(
    chosen=st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=4
    )
)
async def test_no_sequence_of_requests_reaches_across_the_wall(
    furnished: tuple[HttpServer, Everything, list[Any]], chosen: list[tuple[int, int, int]]
) -> None:
    server, everything, before = furnished
    walkable = [endpoint for endpoint in ENDPOINTS if endpoint.path not in NOT_WALKED]
    async with server.client(server.other_owner) as theirs:
        for which, place, spelling in chosen:
            endpoint = walkable[which % len(walkable)]
            options = places(endpoint, everything.ids)
            path = options[place % len(options)]
            if "{key" in endpoint.path:
                path = path.replace(KEY, SPELLINGS[spelling % len(SPELLINGS)](everything.ids))
            for answer in await ask(theirs, endpoint, path, everything):
                assert answer.status_code < 500, answer.text
                assert SECRET not in answer.text
    async with server.client() as mine:
        assert await look(mine) == before


SPELLINGS: list[Callable[[dict[str, str]], str]] = [
    lambda ids: KEY,
    lambda ids: f"{KEY}:v1",
    lambda ids: f"{KEY}:v1@default",
    lambda ids: ids["session"],
    lambda ids: ids["conversation"],
    lambda ids: f"agent:{MARK}:{ids['account']}",
    lambda ids: f"agent:{MARK}:main",
    lambda ids: "main",
]


@pytest.fixture
async def furnished(server: HttpServer) -> tuple[HttpServer, Everything, list[Any]]:
    """A server in which account A has one of everything, and B its twin."""
    async with server.client() as mine:
        everything = await furnish(mine)
        await share(server)
        return server, everything, await look(mine)
