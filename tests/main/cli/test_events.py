"""`carrel events`: up to the newest, and what cannot be replayed."""

import json
import threading
from collections.abc import Iterator

from tests.bridge.tiny_server import Frames, TinyServer
from tests.main.cli.conftest import Carrel
from tests.main.cli.test_request import KEY


def event(seq: int, name: str) -> bytes:
    body = {"seq": seq, "name": name, "at": "2026-01-01T00:00:00.000Z", "sessionKey": KEY, "runId": "run_1"}
    return f"id: {seq}\nevent: {name}\ndata: {json.dumps(body)}\n\n".encode()


def test_events_are_shown_up_to_the_newest(at: Carrel, tiny: TinyServer) -> None:
    gate = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 8}\n\n'
        yield event(7, "run.queued") + event(8, "run.started")
        gate.wait(5)

    tiny.does("GET", "/api/stream", lambda _: (200, Frames(pieces())))
    ended = at("events", "--after", "6", "--name", "run")
    gate.set()
    assert ended.out.splitlines() == [
        f"7\t2026-01-01T00:00:00.000Z\trun.queued\t{KEY}\trun_1",
        f"8\t2026-01-01T00:00:00.000Z\trun.started\t{KEY}\trun_1",
    ]
    assert tiny.asked[0].headers["Last-Event-ID"] == "6"
    assert tiny.asked[0].query == {"events": "run"}


def test_events_as_json_are_one_object_per_line(at: Carrel, tiny: TinyServer) -> None:
    tiny.does(
        "GET",
        "/api/stream",
        lambda _: (200, Frames(iter([b'event: stream.ready\ndata: {"seq": 2}\n\n', event(2, "x.y")]))),
    )
    assert [json.loads(line)["seq"] for line in at("events", "--json").out.splitlines()] == [2]


def test_a_feed_that_cannot_be_replayed_says_where_to_begin(at: Carrel, tiny: TinyServer) -> None:
    reset = b'event: stream.reset\ndata: {"reason": "overflow", "seq": 9000}\n\n'
    tiny.does("GET", "/api/stream", lambda _: (200, Frames(iter([reset]))))
    ended = at("events")
    assert ended.code == 1
    assert "the newest is 9000" in ended.err


def test_an_empty_feed_ends_at_once(at: Carrel, tiny: TinyServer) -> None:
    tiny.does("GET", "/api/stream", lambda _: (200, Frames(iter([b'event: stream.ready\ndata: {"seq": 0}\n\n']))))
    assert at("events") == (0, "", "")
