"""Every way out of the server, as one table: what each door is asked, whoever asks.

A door that `recalls` shows what somebody did not ask for by name: search and context. Inside a run it follows the rule
of the run; the others follow the rule of the reader.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.isolation.asgi import Answer, Client, Json
from tests.isolation.world import Caller, Side

FENCE = "fence-of-the-stream"
EVERYTHING = {"limitTopics": 120, "limitTasks": 240, "limitLogs": 320, "limitNotes": 120}
# At most so many ids of a kind are asked for by one caller.
IDS_MAX = 2
# A call by MCP costs ten others; it goes the way of the same tool on /agent, of which all are made.
MCP_SHARE = 0.15
A2A_HEADERS = {"a2a-version": "1.0"}
MCP_HEADERS = {"accept": "application/json"}


@dataclass(frozen=True)
class Question:
    """One request; `lane` is the session whose context is asked for."""

    path: str
    query: Json = field(default_factory=dict)
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    lane: str | None = None
    # A word in the last frame of a stream.
    until: str = ""

    def __str__(self) -> str:
        given = self.query or self.body or {}
        return self.path + (f" {json.dumps(given)}" if given else "")


@dataclass(frozen=True)
class Door:
    """One way out."""

    name: str
    ask: Callable[[Side], Iterator[Question]]
    recalls: bool = False
    # Shows the board as it is now: what was taken back has left it. Elsewhere stands what was shown at the time.
    is_present: bool = False
    # Who is let in at all; the others are refused, which other tests prove.
    who: tuple[str, ...] = ("owner", "person", "agent")
    # An owner sees all of the account, except what a session is shown; elsewhere only the account's wall concerns it.
    concerns_owner: bool = False


def _some(side: Side, kind: str) -> list[str]:
    found = sorted(set(side.ids[kind]))
    return found if len(found) <= IDS_MAX else side.chance.sample(found, IDS_MAX)


def _lanes(side: Side) -> list[str]:
    found = sorted(side.facts.lanes)
    return found if len(found) <= IDS_MAX else side.chance.sample(found, IDS_MAX)


def _tasks(side: Side) -> list[str]:
    return sorted(side.facts.tasks)[:IDS_MAX]


def _plain(path: str, **query: Any) -> Callable[[Side], Iterator[Question]]:
    return lambda _side: iter((Question(path, query),))


def _each(kind: str, path: str, **query: Any) -> Callable[[Side], Iterator[Question]]:
    def ask(side: Side) -> Iterator[Question]:
        named = {"lane": _lanes, "task": _tasks}.get(kind)
        for one in named(side) if named else _some(side, kind):
            filled = {name: one if value == "{}" else value for name, value in query.items()}
            yield Question(path.replace("{}", one), filled)

    return ask


def _search(side: Side) -> Iterator[Question]:
    for subject in side.world.subjects:
        yield Question("/api/search", {"q": subject, **EVERYTHING})
    for lane in _lanes(side)[:2]:
        yield Question("/api/search", {"q": side.subject(), "sessionKey": lane, **EVERYTHING})


def _context(side: Side) -> Iterator[Question]:
    wide = {"maxChars": 12_000, "workingSetLimit": 40, "timelineLimit": 40, "mode": "patient"}
    yield Question("/api/context", {"q": side.subject(), **wide})
    yield Question("/api/context", {"q": side.subject(), "sessionKey": "discord-4711", **wide})
    for lane in _lanes(side):
        yield Question("/api/context", {"q": side.subject(), "sessionKey": lane, **wide}, lane=lane)
        yield Question("/api/context", {"q": side.subject(), "sessionKey": lane, "form": "run"}, lane=lane)


def _memory(side: Side) -> Iterator[Question]:
    for lane in _lanes(side):
        yield Question("/api/memory", {"sessionId": lane, "limit": 200})
        yield Question("/api/memory/search", {"sessionId": lane, "q": side.subject(), "limit": 50})
        for task in _tasks(side)[:2]:
            yield Question("/api/memory", {"sessionId": lane, "taskId": task, "limit": 200})
            yield Question("/api/memory/search", {"sessionId": lane, "taskId": task, "q": side.subject(), "limit": 50})
        _, agent, conversation = lane.split(":", 2)
        yield Question("/api/memory", {"scope": f"session:{conversation}", "agentId": agent, "limit": 200})
    for task in _tasks(side):
        yield Question("/api/memory", {"scope": f"task:{task}", "limit": 200})
    yield Question("/api/memory", {"scope": "global", "limit": 200})


def _stream(_side: Side) -> Iterator[Question]:
    yield Question("/api/stream", {"lastEventId": 0}, until=FENCE)


def _compare(side: Side) -> Iterator[Question]:
    first, *others = [*_some(side, "run"), ""]
    for other in others[:2]:
        yield Question(f"/api/runs/{first}/receipt/compare", {"with": other})


def _tool_calls(side: Side) -> Iterator[tuple[str, Json, str | None]]:
    subject, lanes = side.subject(), _lanes(side)[:3]
    yield "sessions_list", {"messageLimit": 20}, None
    yield "clawboard_search", {"q": subject, "limitTopics": 120, "limitTasks": 240, "limitLogs": 320}, None
    yield "clawboard_context", {"q": subject, "maxChars": 12_000}, None
    yield "memory_search", {"query": subject, "limit": 50}, None
    for name in ("plan_get", "goal_list", "agents_list", "file_list"):
        yield name, {}, None
    for lane in lanes:
        yield "clawboard_context", {"q": subject, "sessionKey": lane, "maxChars": 12_000}, lane
        yield "clawboard_search", {"q": subject, "sessionKey": lane}, None
        yield "sessions_history", {"sessionKey": lane, "includeTools": True}, None
        yield "session_status", {"sessionKey": lane}, None
    for task in _tasks(side)[:3]:
        yield "task_history", {"taskId": task, "messageLimit": 200, "activityLimit": 200}, None
        yield "task_load", {"taskId": task}, None
        yield "clawboard_get_task", {"id": task}, None
        yield "file_list", {"taskId": task}, None
    for kind, name in READ_BY_ID:
        for one in _some(side, kind):
            yield name, {"id": one}, None


READ_BY_ID = (
    ("topic", "clawboard_get_topic"), ("entry", "clawboard_get_log"), ("memory", "memory_read"), ("file", "file_read"),
)  # fmt: skip
RECALLING = ("clawboard_search", "clawboard_context", "memory_search", "memory_read")


def _tools(names: Callable[[str], bool]) -> Callable[[Side], Iterator[Question]]:
    def ask(side: Side) -> Iterator[Question]:
        for name, given, lane in _tool_calls(side):
            if names(name):
                yield Question(f"/agent/{name}", body=given, lane=lane)

    return ask


def _mcp(names: Callable[[str], bool]) -> Callable[[Side], Iterator[Question]]:
    def ask(side: Side) -> Iterator[Question]:
        for name, given, lane in _tool_calls(side):
            if names(name) and side.chance.random() < MCP_SHARE:
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
                yield Question("/mcp", body=call, headers=MCP_HEADERS, lane=lane)

    return ask


def _a2a(side: Side) -> Iterator[Question]:
    for agent in ("main", "writer"):
        asked: list[tuple[str, Json]] = [("ListTasks", {"historyLength": 50, "includeArtifacts": True})]
        asked += [("GetTask", {"id": run, "historyLength": 50}) for run in _some(side, "run")]
        for method, params in asked:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            yield Question(f"/a2a/{agent}", body=body, headers=A2A_HEADERS)
        yield Question(f"/a2a/{agent}/tasks", {"includeArtifacts": "true"}, headers=A2A_HEADERS)


def _recalls(name: str) -> bool:
    return name in RECALLING


def _reads(name: str) -> bool:
    return name not in RECALLING


DOORS = (
    Door("search", _search, recalls=True, concerns_owner=True),
    Door("context", _context, recalls=True, concerns_owner=True),
    Door("topics", _plain("/api/topics", limit=500), is_present=True),
    Door("usage of sessions", _plain("/api/usage", by="session")),
    Door("usage of tasks", _plain("/api/usage", by="task")),
    Door("all goals", _plain("/api/goals", all=1, limit=200)),
    Door("topic", _each("topic", "/api/topics/{}"), is_present=True),
    Door("topic thread", _each("topic", "/api/topics/{}/thread", limit=200), is_present=True),
    Door("tasks", _plain("/api/tasks", limit=500, includeArchived=1), is_present=True),
    Door("task", _each("task", "/api/tasks/{}"), is_present=True),
    Door("task thread", _each("task", "/api/tasks/{}/thread", limit=200), is_present=True),
    Door("task history", _each("task", "/api/tasks/{}/history", messageLimit=200, activityLimit=200)),
    Door("task sessions", _each("task", "/api/tasks/{}/sessions")),
    Door("task why", _each("task", "/api/tasks/{}/why")),
    Door("log", _plain("/api/log", limit=1000, includeRaw=1)),
    Door("log of a session", _each("lane", "/api/log", sessionKey="{}", limit=1000)),
    Door("log of a task", _each("task", "/api/log", taskId="{}", limit=1000)),
    Door("log of a topic", _each("topic", "/api/log", topicId="{}", limit=1000)),
    Door("log of a run", _each("run", "/api/log", runId="{}", limit=1000)),
    Door("log of a type", _plain("/api/log", type="conversation", classificationStatus="classified", limit=1000)),
    Door("log of a space", _plain("/api/log", spaceId="space-blue", limit=1000)),
    Door("log entry", _each("entry", "/api/log/{}", includeRaw=1)),
    Door("notes", _plain("/api/notes", limit=1000)),
    Door("memory", _memory, recalls=True),
    Door("memory reads", _each("memory", "/api/memory/{}/reads")),
    Door("runs", _plain("/api/runs", limit=200)),
    Door("runs of a session", _each("lane", "/api/runs", sessionKey="{}")),
    Door("runs of a task", _each("task", "/api/runs", taskId="{}")),
    Door("run", _each("run", "/api/runs/{}")),
    Door("wait", _each("run", "/api/runs/{}/wait", timeoutSeconds=0)),
    Door("receipt", _each("run", "/api/runs/{}/receipt", body=1)),
    Door("run why", _each("run", "/api/runs/{}/why")),
    Door("artifacts", _each("run", "/api/runs/{}/artifacts")),
    Door("artifact", _each("artifact", "/api/artifacts/{}/content")),
    Door("file", _each("file", "/api/attachments/{}")),
    Door("sessions", _plain("/api/sessions", limit=200, messageLimit=20, archived=0)),
    Door("session", _each("lane", "/api/sessions/{}")),
    Door("session history", _each("lane", "/api/sessions/{}/history", limit=1000, includeTools=1)),
    Door("session queue", _each("lane", "/api/sessions/{}/queue")),
    Door("session access", _each("lane", "/api/sessions/{}/access")),
    Door("session generations", _each("lane", "/api/sessions/{}/generations")),
    Door("recent sessions", _plain("/api/sessions/recent", channelType="web", clientInstanceId="c")),
    Door("active session", _plain("/api/sessions/active", channelType="web", clientInstanceId="c")),
    Door("notifications", _plain("/api/notifications", limit=200)),
    Door("changes", _plain("/api/changes", sinceSeq=0, limit=5000, includeRaw=1), concerns_owner=True),
    Door("stream", _stream, concerns_owner=True),
    Door("goals", _each("lane", "/api/goals", sessionId="{}")),
    Door("goal", _each("goal", "/api/goals/{}")),
    Door("plans", _each("lane", "/api/plans", sessionId="{}")),
    Door("auto runs", _each("lane", "/api/auto/runs", sessionId="{}", includeEnded=1)),
    Door("auto run", _each("auto", "/api/auto/runs/{}")),
    Door("schedules", _plain("/api/schedules", limit=200)),
    Door("schedules of a session", _each("lane", "/api/schedules", sessionId="{}")),
    Door("schedule", _each("schedule", "/api/schedules/{}")),
    Door("classifier pending", _plain("/api/classifier/pending", limit=500)),
    Door("session routing", _each("lane", "/api/classifier/session-routing", sessionKey="{}")),
    Door("spaces", _plain("/api/spaces")),
    Door("agents", _plain("/api/agents")),
    Door("account", _plain("/api/account")),
    Door("budgets", _plain("/api/budgets"), concerns_owner=True, who=("owner",)),
    Door("webhooks", _plain("/api/hooks/in"), concerns_owner=True, who=("owner",)),
    Door("deliveries", _plain("/api/hooks/in/deliveries"), concerns_owner=True, who=("owner",)),
    Door("MCP servers", _plain("/api/mcp/servers")),
    Door("whoami", _plain("/api/auth/me")),
    Door("users", _plain("/api/users")),
    Door("allowed spaces", _plain("/api/spaces/allowed", spaceId="space-blue")),
    Door("agent", _plain("/api/agents/writer")),
    Door("plan", _each("plan", "/api/plans/{}")),
    Door("compared receipts", _compare),
    Door("classifier status", _plain("/api/classifier/status")),
    Door("metrics history", _plain("/api/metrics/history", minutes=5)),
    Door("tool list", _plain("/agent")),
    Door("health", _plain("/api/health")),
    Door("metrics", _plain("/api/metrics")),
    Door("prometheus", _plain("/metrics")),
    Door("tools that recall", _tools(_recalls), recalls=True, who=("agent",)),
    Door("tools", _tools(_reads), who=("agent",)),
    Door("mcp tools that recall", _mcp(_recalls), recalls=True, who=("agent",)),
    Door("mcp tools", _mcp(_reads), who=("agent",)),
    Door("a2a", _a2a, who=("program", "person")),
    Door("responses", _each("response", "/v1/responses/{}"), who=("program", "person")),
    Door("response input", _each("response", "/v1/responses/{}/input_items"), who=("program", "person")),
)  # fmt: skip


# What a run's own token is tried on in the middle of its turn; a turn waits for it, so it is a share of the doors.
LOOKS_SHARE = 0.2


async def look_around(side: Side, client: Client, key: str) -> list[tuple[Door, Question, str]]:
    """Read a share of the doors with the token of a run in a lane."""
    seen: list[tuple[Door, Question, str]] = []
    for door in DOORS:
        if "agent" in door.who and door.name != "stream":
            for question in door.ask(side):
                if not door.recalls and side.chance.random() > LOOKS_SHARE:
                    continue
                answer = await ask(client, question)
                seen.append((door, question, answer.text))
    return seen


async def ask(client: Client, question: Question) -> Answer:
    """Ask as a caller would."""
    if question.until:
        return await client.stream(question.path, question.query, question.until)
    method = "GET" if question.body is None else "POST"
    return await client.request(method, question.path, question.query, question.body, question.headers)


def nothing(_side: Side) -> Iterator[Question]:
    """Ask nothing: what such a door shows was kept when it was shown."""
    yield from ()


def kind_of(caller: Caller) -> str:
    """Return which kind of caller somebody is."""
    if caller.name == "owner":
        return "owner"
    return "person" if caller.person else "agent" if caller.agent else "program"
