"""The awaited client against a server that breaks off, is slow, and says odd things."""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from carrel.bridge import AsyncClient, Fault, NotReachable, Refused, TimedOut
from tests.bridge.tiny_server import Asked, Frames, Raw, TinyServer
from tests.harness.elapsing import Elapsing
from tests.harness.engine import SECONDS_MAX


def frame(seq: int, **data: str) -> bytes:
    said = "".join(f',"{name}":"{text}"' for name, text in data.items())
    return f'id: {seq}\r\nevent: run.queued\r\ndata: {{"seq":{seq},"name":"run.queued"{said}}}\r\n\r\n'.encode()


async def test_events_go_on_after_a_broken_connection(tiny: TinyServer, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    ready = b'event: stream.ready\ndata: {"seq": 6}\n\n'
    # The second event arrives in two pieces, the fourth is cut, and a separator that is no line end stays in its text.
    connections = iter(
        [
            [ready, b": ping\n\n", frame(7), frame(8)[:20], frame(8)[20:], frame(9)[:9]],
            [ready, frame(9, newField="a\u2028b")],
        ]
    )
    tiny.does("GET", "/api/stream", lambda _: (200, Frames(iter(next(connections)))))
    async with AsyncClient(tiny.url, "t") as client:
        events = client.events(session_key="main", names=["run.", "log."])
        seen = [await anext(events) for _ in range(3)]
        await events.aclose()
    assert [event.seq for event in seen] == [7, 8, 9]
    assert seen[2].raw["newField"] == "a\u2028b"
    assert [asked.headers.get("Last-Event-ID") for asked in tiny.asked] == [None, "8"]
    assert tiny.asked[1].query == {"sessionKey": "main", "events": "run.,log."}


async def test_a_server_that_always_closes_the_stream_is_given_up(tiny: TinyServer, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    tiny.does("GET", "/api/stream", lambda _: (200, Frames(iter([]))))
    async with AsyncClient(tiny.url) as client:
        with pytest.raises(NotReachable, match="closes the event stream"):
            await anext(client.events())


async def test_failed_attempts_are_told_from_the_feed_until_the_time_is_up(
    tiny: TinyServer, elapsing: Elapsing
) -> None:
    gate, told = threading.Event(), list[Fault]()

    def frames() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 6}\n\n'
        for attempt in (1, 2):
            data = {"attempt": attempt, "attemptsMax": 5, "error": {"code": "away", "message": "Away."}}
            body = json.dumps({"runId": "run_1", "data": data})
            yield f"id: {attempt + 6}\nevent: run.retrying\ndata: {body}\n\n".encode()
        gate.wait(SECONDS_MAX)

    def tell(fault: Fault) -> None:
        told.append(fault)
        elapsing.advance(30)

    tiny.does("GET", "/api/stream", lambda _: (200, Frames(frames())))
    tiny.answers("GET", "/api/runs/run_1", {"run": {"id": "run_1", "state": "running", "sessionKey": "main"}})
    async with AsyncClient(tiny.url) as client:
        with pytest.raises(TimedOut, match="run_1 is still running"):
            await client.runs.wait("run_1", 60, on_fault=tell)
    gate.set()
    assert [(fault.attempt, fault.attempts_max, fault.code) for fault in told] == [(1, 5, "away"), (2, 5, "away")]


async def test_an_idle_feed_ends(tiny: TinyServer, elapsing: Elapsing) -> None:
    gate = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield frame(1)
        gate.wait(SECONDS_MAX)

    tiny.does("GET", "/api/stream", lambda _: (200, Frames(pieces())))
    async with AsyncClient(tiny.url) as client:
        events = client.events(after=0, idle_seconds=20)
        assert (await anext(events)).seq == 1
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(anext(events, None))
            await elapsing.pass_by(40, lambda: asyncio.sleep(0))
        assert ending.result() is None
    gate.set()


async def test_a_slow_response_times_out_and_a_cancelled_one_is_never_read(tiny: TinyServer) -> None:
    gate, asked = threading.Event(), threading.Semaphore(0)

    def slow(_: Asked) -> tuple[int, object]:
        asked.release()
        gate.wait(5)
        return 200, {"late": True}

    tiny.does("GET", "/slow", slow)
    tiny.answers("GET", "/fast", {"late": False})
    async with AsyncClient(tiny.url) as client:
        with pytest.raises(TimedOut, match=r"within 0.1 seconds"):
            await client.get("/slow", timeout_seconds=0.1)
        cancelled = asyncio.create_task(client.get("/slow"))
        assert await asyncio.to_thread(asked.acquire, timeout=5)
        assert await asyncio.to_thread(asked.acquire, timeout=5)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        gate.set()
        assert await client.get("/fast") == {"late": False}
        assert await client.get("/fast") == {"late": False}
    # Two that were given up, and one for both of those that came after them.
    assert tiny.connections == 3


async def test_what_is_not_said_by_a_carrel_server_is_told_apart(tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs/html", Raw(b"<html>Welcome</html>"))
    tiny.answers("GET", "/api/runs/odd", {"run": {"id": 7}})
    tiny.answers("GET", "/api/runs/away", Raw(b"<html>Bad gateway</html>"), status=502)
    tiny.answers("GET", "/api/runs/newer", {"run": {"id": "run_1", "state": "dreaming", "colour": "blue"}})
    async with AsyncClient(tiny.url) as client:
        with pytest.raises(NotReachable, match="not like a Carrel server"):
            await client.runs.get("html")
        with pytest.raises(NotReachable, match="is not a run"):
            await client.runs.get("odd")
        with pytest.raises(Refused, match="502"):
            await client.runs.get("away")
        run = await client.runs.get("newer")
    assert (run.state, run.reply, run.raw["colour"]) == ("dreaming", None, "blue")
