"""The text of a reply while it is written, against a WebSocket server that says what a test wants."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest
from websockets.http11 import Request as WsRequest
from websockets.http11 import Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from carrel.bridge import Client, Fault, Live, Piece, TimedOut
from tests.bridge.tiny_server import tiny_server

BOUND = {"type": "system_event", "eventType": "runtime_event", "payload": {"bound": True}}
RUNNING = {"id": "run_1", "state": "running"}


@contextmanager
def line_to(talk: Callable[[ServerConnection], None], *runs: dict[str, Any]) -> Iterator[Live]:
    """Listen to a server that picks the first subprotocol offered and talks; reads of the run get `runs` in turn."""
    states = iter(runs)

    def answer(line: ServerConnection, request: WsRequest) -> Response | None:
        if request.path.startswith("/ws/"):
            return None
        waits = "/wait?" in request.path
        return line.respond(HTTPStatus.OK, json.dumps({} if waits else {"run": next(states)}))

    def first(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol:
        return offered[0]

    with serve(talk, "127.0.0.1", 0, process_request=answer, select_subprotocol=first) as server:
        worker = threading.Thread(target=server.serve_forever, daemon=True)
        worker.start()
        with (
            Client(f"http://127.0.0.1:{server.socket.getsockname()[1]}", "crl_owner_1_x") as client,
            client.listen("agent:main:cli:c1") as live,
        ):
            yield live
        server.shutdown()
        worker.join(timeout=5)


def saying(*frames: dict[str, Any], heard: list[object] | None = None) -> Callable[[ServerConnection], None]:
    """Return a talk that is bound and says these frames, all of run_1 where they name no other run."""

    def talk(line: ServerConnection) -> None:
        bound = json.loads(line.recv(timeout=5))
        if heard is not None:
            heard.extend([line.subprotocol, bound])
        for frame in (BOUND, *({"runId": "run_1"} | frame for frame in frames)):
            line.send(json.dumps(frame))

    return talk


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant_chunk", "text": text, **more}


def done(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant_done", "text": text, **more}


def test_pieces_of_the_run_come_and_those_of_others_do_not() -> None:
    heard: list[object] = []
    talk = saying(
        chunk("not ours", runId="run_2"), chunk("Good "), chunk("morning."), done("Good morning."), heard=heard
    )
    with line_to(talk, RUNNING) as live:
        assert live.is_open
        assert list(live.pieces("run_1")) == [Piece("Good "), Piece("morning.")]
    assert heard == ["bearer.crl_owner_1_x", {"type": "bind", "sessionId": "agent:main:cli:c1"}]


@pytest.mark.parametrize(
    ("frames", "pieces"),
    [
        ([done("At once.")], [Piece("At once.")]),
        ([chunk("Good "), done("Good morning.")], [Piece("Good "), Piece("morning.")]),
        ([chunk("I look."), done("Found.")], [Piece("I look."), Piece("Found.", starts_over=True)]),
        (
            [chunk("Go"), {"payload": {"restart": True}}, chunk("Good."), done("Good.")],
            [Piece("Go"), Piece("Good.", starts_over=True)],
        ),
        ([done("")], []),
    ],
    ids=["all at once", "a piece was missed", "text before a tool call", "the step is sent again", "a silent reply"],
)
def test_the_pieces_since_the_last_start_are_the_reply(frames: list[dict[str, Any]], pieces: list[Piece]) -> None:
    with line_to(saying(*frames), RUNNING) as live:
        assert list(live.pieces("run_1")) == pieces


def test_a_failed_attempt_is_told_while_its_run_goes_on() -> None:
    fault = {"name": "run.retrying", "state": "queued", "attempt": 1, "attemptsMax": 5, "message": "Nobody answers."}
    told: list[Fault] = []
    talk = saying({"runId": "run_2", "payload": fault}, {"payload": fault}, done("At last."))
    with line_to(talk, RUNNING) as live:
        assert list(live.pieces("run_1", on_fault=told.append)) == [Piece("At last.")]
    assert [(one.attempt, one.attempts_max, one.message) for one in told] == [(1, 5, "Nobody answers.")]


def test_a_run_that_asks_ends_the_pieces() -> None:
    asks = {"payload": {"name": "run.waiting", "state": "waiting"}}
    waiting = {"id": "run_1", "state": "waiting", "reply": "Which?"}
    with line_to(saying(asks), RUNNING, waiting) as live:
        assert list(live.pieces("run_1")) == []


def test_after_a_lost_connection_the_rest_of_the_reply_still_comes() -> None:
    completed = {"id": "run_1", "state": "completed", "reply": "Good morning."}
    with line_to(saying(chunk("Good ")), RUNNING, completed) as live:
        assert list(live.pieces("run_1")) == [Piece("Good "), Piece("morning.")]


def test_without_a_websocket_the_reply_comes_at_once() -> None:
    with tiny_server() as server:
        server.answers(
            "GET", "/api/runs/run_1", {"run": {"id": "run_1", "state": "completed", "reply": "Good morning."}}
        )
        server.answers("GET", "/api/runs/run_1/wait", {})
        with Client(server.url).listen("main") as live:
            assert not live.is_open
            assert list(live.pieces("run_1")) == [Piece("Good morning.")]


def test_a_session_that_may_not_be_heard_has_its_reply_as_a_whole() -> None:
    def talk(line: ServerConnection) -> None:
        line.recv(timeout=5)
        line.send(json.dumps({"type": "system_event", "eventType": "error", "payload": {"code": "not_found"}}))

    completed = {"id": "run_1", "state": "completed", "reply": "Good morning."}
    with line_to(talk, completed) as live:
        assert not live.is_open
        assert list(live.pieces("run_1")) == [Piece("Good morning.")]


def test_pieces_that_take_too_long_time_out() -> None:
    ended = threading.Event()

    def talk(line: ServerConnection) -> None:
        saying()(line)
        ended.wait(5)

    with line_to(talk, RUNNING, RUNNING) as live:
        with pytest.raises(TimedOut, match="run_1 is still running"):
            list(live.pieces("run_1", timeout_seconds=0.05))
        ended.set()
