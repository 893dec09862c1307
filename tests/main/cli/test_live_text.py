"""Live text of a chat, against a real WebSocket server."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.server import ServerConnection, serve

from carrel.bridge import Client
from carrel.main.cli.live_text import listen


@contextmanager
def line_server(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    """Run a WebSocket server that picks the first subprotocol offered and then talks."""
    with serve(talk, "127.0.0.1", 0, select_subprotocol=lambda _, offered: offered[0] if offered else None) as server:
        worker = threading.Thread(target=server.serve_forever, daemon=True)
        worker.start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        worker.join(timeout=5)


def test_pieces_of_the_run_come_and_those_of_others_do_not() -> None:
    bound: list[object] = []

    def talk(line: ServerConnection) -> None:
        bound.extend([line.subprotocol, json.loads(line.recv(timeout=5))])
        for frame in (
            {"type": "system_event", "eventType": "runtime_event", "payload": {"bound": True}},
            {"type": "assistant_chunk", "runId": "run_2", "text": "not ours"},
            {"type": "assistant_chunk", "runId": "run_1", "text": "Good "},
            {"type": "assistant_chunk", "runId": "run_1", "text": "morning."},
            {"type": "assistant_done", "runId": "run_1", "text": "Good morning."},
            {"type": "assistant_done", "runId": "run_3", "text": "All at once."},
        ):
            line.send(json.dumps(frame))

    with line_server(talk) as url, listen(Client(url, "crl_owner_1_x"), "agent:main:cli:c1", "cli") as live:
        assert live
        assert list(live.pieces("run_1", ended=lambda: False, failed=print)) == ["Good ", "morning."]
        assert list(live.pieces("run_3", ended=lambda: False, failed=print)) == ["All at once."]
    assert bound == [
        "bearer.crl_owner_1_x",
        {"type": "bind", "sessionId": "agent:main:cli:c1", "clientInstanceId": "cli"},
    ]


def test_a_failed_attempt_is_told_while_its_run_goes_on() -> None:
    fault = {"name": "run.retrying", "state": "queued", "attempt": 1, "attemptsMax": 5, "message": "Nobody answers."}

    def talk(line: ServerConnection) -> None:
        line.recv(timeout=5)
        line.send(json.dumps({"type": "system_event", "runId": "run_2", "payload": fault}))
        line.send(json.dumps({"type": "system_event", "runId": "run_1", "payload": fault}))
        line.send(json.dumps({"type": "assistant_done", "runId": "run_1", "text": "At last."}))

    told: list[dict[str, Any]] = []
    with line_server(talk) as url, listen(Client(url), "k", "cli") as live:
        assert live
        assert list(live.pieces("run_1", ended=lambda: False, failed=told.append)) == ["At last."]
    assert told == [fault]


def test_a_line_that_is_cut_ends_the_pieces() -> None:
    def talk(line: ServerConnection) -> None:
        line.recv(timeout=5)
        line.send(json.dumps({"type": "assistant_chunk", "runId": "run_1", "text": "Good "}))

    with line_server(talk) as url, listen(Client(url), "k", "cli") as live:
        assert live
        assert list(live.pieces("run_1", ended=lambda: False, failed=print)) == ["Good "]


def test_where_no_line_is_to_be_had_there_is_none() -> None:
    with listen(Client("http://127.0.0.1:9"), "k", "cli") as live:
        assert live is None
