"""`carrel sessions`: shown, forked, reset, archived and deleted."""

from collections.abc import Iterator
from typing import Any

from tests.bridge.tiny_server import Frames, TinyServer
from tests.main.cli.conftest import Carrel, run_of
from tests.main.cli.test_request import KEY


def test_a_session_is_deleted_only_with_consent(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("DELETE", f"/api/sessions/{KEY}", None, status=204)
    assert (at("sessions", "delete", KEY).code, tiny.asked) == (2, [])
    assert at("sessions", "delete", KEY, "--yes").out == "Deleted.\n"


def test_a_session_is_forked(at: Carrel, tiny: TinyServer) -> None:
    made = {"sessionId": "web:c-1", "sessionKey": "agent:main:web:c-1"}
    tiny.answers("POST", "/api/sessions/main/fork", made, status=201)
    assert at("sessions", "fork", "main", "ent_1", "--name", "Again").out == "agent:main:web:c-1\n"
    assert tiny.asked[-1].body == {"entryId": "ent_1", "displayName": "Again"}
    at("sessions", "fork", "main")
    assert tiny.asked[-1].body == {}


def test_the_queue_is_shown_in_order(at: Carrel, tiny: TinyServer) -> None:
    running = run_of(id="run_0", state="running")
    queued = [run_of(id=f"run_{n}", state="queued", queuePosition=n) for n in (1, 2)]
    tiny.answers("GET", f"/api/sessions/{KEY}/queue", {"running": running, "runs": queued})
    lines = at("queue", KEY).out.splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["now", "run_0", "running"],
        ["1", "run_1", "queued"],
        ["2", "run_2", "queued"],
    ]


def test_sessions_are_reset_archived_and_brought_back(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", f"/api/sessions/{KEY}/reset", {"closedSessionId": "ses_1", "nextGeneration": 3})
    tiny.answers("POST", f"/api/sessions/{KEY}/archive", {"session": {"sessionKey": KEY}})
    archived = {"generation": 2, "closedReason": "archived", "state": "closed", "deliverySessionKey": f"{KEY}:v2"}
    tiny.answers("GET", f"/api/sessions/{KEY}/generations", {"sessions": [archived]})
    back = {"session": archived | {"closedReason": None, "state": "idle"}, "reopened": True}
    tiny.answers("POST", f"/api/sessions/{KEY}/unarchive", back)
    assert "generation 3" in at("sessions", "reset", KEY).out
    assert at("sessions", "archive", KEY).code == 0
    ended = at("sessions", "archive", KEY, "--undo")
    assert (ended.code, ended.out, ended.err) == (0, "Brought back; generation 2 goes on.\n", "")


def test_bringing_a_session_back_says_first_that_a_newer_conversation_was_opened(at: Carrel, tiny: TinyServer) -> None:
    first = {"generation": 1, "closedReason": "archived", "state": "closed", "deliverySessionKey": f"{KEY}:v1"}
    second = {"generation": 2, "closedReason": None, "state": "idle", "deliverySessionKey": f"{KEY}:v2"}
    tiny.answers("GET", f"/api/sessions/{KEY}/generations", {"sessions": [second, first]})
    tiny.answers("POST", f"/api/sessions/{KEY}/unarchive", {"session": second, "reopened": False})
    ended = at("sessions", "archive", KEY, "--undo")
    assert "Generation 2 was opened since, so generation 1 stays closed." in ended.err
    assert f"`carrel sessions tail {KEY}:v1`" in ended.err
    assert (ended.code, ended.out) == (0, "It is listed; generation 2 goes on.\n")


def test_tail_shows_messages_and_follows_without_repeating(at: Carrel, tiny: TinyServer) -> None:
    def message(number: int) -> dict[str, Any]:
        return {"id": f"ent_{number}", "role": "user", "content": [{"type": "text", "text": f"line {number}"}]}

    histories = iter([[message(1)], [message(1), message(2)]])
    tiny.does("GET", f"/api/sessions/{KEY}/history", lambda _: (200, {"messages": next(histories)}))
    refusal = {"error": {"code": "not_found", "message": "Gone."}}
    streams: Iterator[tuple[int, Any]] = iter([(200, Frames(iter([b"id: 5\nevent: run.queued\ndata: {}\n\n"])))])
    tiny.does("GET", "/api/stream", lambda _: next(streams, (404, refusal)))
    ended = at("sessions", "tail", KEY, "--follow")
    assert ended.out == "user\tline 1\nuser\tline 2\n"
    assert ended.code == 1
