"""What is passed on live, and every read of the API, costs no more than in proportion to what there is."""

import re
from typing import Any

import httpx
import pytest

from carrel.access import make_space
from carrel.board import LogSource, NewLog, record
from carrel.delivery import DraftText, LivePiece
from carrel.inbound import receive
from carrel.journal import json_text
from carrel.kernel.settings import Settings
from carrel.main.assembly import whole_document
from carrel.storage import Tx
from carrel.surfaces.api.silent_text import SilentTextFilter
from carrel.surfaces.responses.stream import EventWriter
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.growth import BLOCK, GROWTH, Work, cost_of_answer, grew_too_much, shown_to_be_linear
from tests.harness.server import HttpServer, open_http_server
from tests.inbound.posts import SECRET_VARIABLE, webhook
from tests.inbound.senders import SECRET
from tests.surfaces.api_calls import Json

BLANK = " " * len(BLOCK)


def said(text: str) -> LivePiece:
    return LivePiece("text", "run_1", "agent:main:main", text)


@pytest.mark.parametrize("piece", [BLOCK, BLANK, "a"], ids=["text", "spaces", "letters"])
@pytest.mark.parametrize("is_repeated", [False, True], ids=["once", "again"])
def test_the_events_of_live_text_are_made_in_linear_time(piece: str, is_repeated: bool) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            words = DraftText()
            writer = EventWriter("resp_1", words)
            for _ in range(1 + is_repeated):
                words.add(LivePiece("restart", "run_1", "agent:main:main"))
                for _ in range(n):
                    words.add(said(piece))
                    list(writer.send_live(words.step))

        return work

    shown_to_be_linear(shape, 100)


@pytest.mark.parametrize("begun", ["", "NO_REPLY"])
@pytest.mark.parametrize("piece", [BLOCK, BLANK], ids=["text", "spaces"])
def test_text_that_may_be_a_silent_reply_is_held_back_in_linear_time(begun: str, piece: str) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            held = SilentTextFilter()
            shown = [held.add("run_1", text) for text in (begun, *[piece] * n)] + [held.end("run_1", "a reply")]
            assert "".join(shown) == begun + piece * n

        return work

    shown_to_be_linear(shape, 100)


def test_a_silent_reply_is_recognized_in_any_pieces() -> None:
    held = SilentTextFilter()
    assert [held.add("run_1", piece) for piece in ("  ", "NO_", "REPLY", " ", "\n")] == [""] * 5
    assert held.end("run_1", "NO_REPLY") == ""
    assert [held.add("run_2", piece) for piece in (" NO_", " ", "REPLY")] == ["", "", " NO_ REPLY"]


MAIN = "agent:main:main"
FEW = 30
DAILY = {"type": "message", "message": "hi", "cron": "0 0 1 1 *", "sessionId": MAIN}
# What a read is asked for that has no default; and as much of a list as it gives.
ASKED = {
    "q": "sheep",
    "clientInstanceId": "tab",
    "sessionId": MAIN,
    "spaceId": "space-default",
    "limit": "100000",
    "timeoutSeconds": "0",
}
# Streams are no answers, and these need what only a run that has ended has; none of them is a list.
NOT_ASKED = re.compile(r"/(?:api/stream|a2a/.*|v1/responses/.*|api/artifacts/.*|api/attachments/.*|api/auto/runs/.*)"
                       r"|/api/plans/.*|/api/runs/.*/(?:receipt|receipt/compare)")  # fmt: skip


async def grow(server: HttpServer, client: httpx.AsyncClient, numbers: range) -> dict[str, str]:
    """Add something of every kind for each number; return what paths of reads name."""

    alerts = server.services.webhooks.named("alerts", "default")
    assert alerts is not None

    def work(tx: Tx) -> str:
        delivery_id = ""
        for n in numbers:
            make_space(tx, server.access, f"Space {n}")
            put_topic(tx, server.access, NewTopic(id=f"topic-{n}", name=f"Topic {n}", space_id=f"space-space-{n}"))
            create_task(
                tx, server.access, NewTask(id=f"task-{n}", title="Count sheep", topic_id="topic-0"), server.rules
            )
            source = LogSource(session_key="claude:s1")
            log = NewLog(id=f"log-{n}", type="note", content="sheep", source=source, topic_id="topic-0")
            record(tx, server.access, log)
            payload = {"title": "sheep", "number": n}
            raw = json_text(payload).encode()
            delivery_id = receive(tx, alerts, alerts.read({}, raw, payload), raw, server.rules)
        return delivery_id

    delivery_id = await server.db.write(work)
    made: dict[str, Json] = {}
    for n in numbers:
        for path, body in (
            ("/api/runs", {"message": "hello", "sessionKey": MAIN}),
            ("/api/users", {"name": f"Person {n}"}),
            ("/api/agents", {"id": f"agent-{n}", "name": f"Agent {n}"}),
            ("/api/tokens", {"kind": "client", "name": f"program {n}", "agentIds": ["main"]}),
            ("/api/goals", {"sessionId": MAIN, "name": f"Goal {n}"}),
            ("/api/memory", {"scope": "task:task-0", "type": "fact", "content": f"{n} sheep"}),
            ("/api/schedules", DAILY),
            ("/api/runs", {"message": "hello", "sessionKey": f"agent:main:hook:{n}"}),
            ("/api/tasks/task-0/messages", {"content": "sheep"}),
        ):
            answer = await client.post(path, json=body)
            assert answer.status_code < 300, f"{path}: {answer.text}"
            made[path] = answer.json()
    return named_by(made) | {"deliveries": delivery_id}


def named_by(made: dict[str, Json]) -> dict[str, str]:
    """The last id of each kind, by where it stands in a path."""
    kinds = {"goals": "goal", "schedules": "schedule", "agents": "agent"}
    ids = {kind: str(made[f"/api/{kind}"][one]["id"]) for kind, one in kinds.items()}
    ids["memory"] = str(next(iter(made["/api/memory"].values()))["id"])
    return ids | {"runs": str(made["/api/runs"]["runId"]), "sessions": MAIN, "models": "carrel/main"} | {
        "tasks": "task-0", "topics": "topic-0", "log": "log-0"
    }  # fmt: skip


def reads() -> dict[str, list[str]]:
    """Every read in the OpenAPI document, and those of its parameters that are given."""
    found = {}
    for path, methods in whole_document()["paths"].items():
        operation: Any = methods.get("get")
        if operation is not None and not NOT_ASKED.fullmatch(path):
            names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            found[path] = [name for name in names if name in ASKED or name == "sessionKey"]
    return found


async def test_no_read_costs_far_more_than_in_proportion_to_what_there_is(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    hooked = Settings(webhooks={"alerts": webhook(agent="main")})
    async with open_http_server(sqlite_url, settings=hooked, works=False) as server, server.client() as client:

        async def costs(numbers: range) -> dict[str, Any]:
            ids = await grow(server, client, numbers)
            found = {}
            for path, names in reads().items():
                given = {name: MAIN if name == "sessionKey" else ASKED[name] for name in names}
                if path in ("/api/log", "/api/notes", "/api/tasks", "/api/topics", "/api/changes", "/api/runs"):
                    # From the whole board, not from one session.
                    given.pop("sessionKey", None)
                if path in ("/api/memory", "/api/memory/search"):
                    given["taskId"] = "task-0"
                at = re.sub(r"/(\w+)/\{\w+\}", lambda part: f"/{part[1]}/{ids[part[1]]}", path)
                found[path] = await cost_of_answer(client, str(httpx.URL(at, params=given)))
            return found

        few, many = await costs(range(FEW)), await costs(range(FEW, FEW * GROWTH))
    assert len(few) > 45
    assert {path: (few[path], many[path]) for path in few if grew_too_much(few[path], many[path])} == {}
    assert sum(many[path].size > 3 * few[path].size for path in few) > 12, "most lists have grown"
