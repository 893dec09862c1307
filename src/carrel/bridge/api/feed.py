"""The event feed as a client reads it: how a broken stream is resumed, and what its frames say."""

import json
import math
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

from carrel.bridge.api.operations import Driver
from carrel.bridge.api.requests import Query, Request
from carrel.bridge.api.shapes import Event, read
from carrel.bridge.faults import BridgeFault, EventsMissed, NotReachable, TimedOut
from carrel.kernel import EventReader, EventTooLarge, elapsed_seconds

EVENT_BYTES_MAX = 4 * 1024 * 1024
# How much of a response is read at a time, if so much has arrived.
PIECE_BYTES_MAX = 64 * 1024
FEED_PATH = "/api/stream"
# The server sends at least a ping every 25 seconds; twice that in silence means a lost connection.
SILENCE_SECONDS = 60.0
RECONNECTS_MAX = 8
RECONNECT_SECONDS = 0.25


class StreamEvent(NamedTuple):
    """One event of a stream: its id (empty if it has none), its name and its parsed body."""

    id: str
    name: str
    body: Any


class StreamReader:
    """Parses the events of one response; one that is incomplete at the end is dropped, as the standard requires."""

    def __init__(self) -> None:
        self._reader = EventReader(EVENT_BYTES_MAX)

    def feed(self, piece: bytes) -> Iterator[StreamEvent]:
        """Yield the events that a piece of the response completes."""
        try:
            events = self._reader.feed(piece)
        except EventTooLarge as fault:
            raise NotReachable(str(fault)) from None
        for event in events:
            body: Any = event.text
            with suppress(ValueError):
                body = json.loads(body)
            yield StreamEvent(event.id, event.name or "message", body)


async def frames(
    driver: Driver, path: str, query: Query | None, last_event_id: str = "", *, idle_seconds: float | None = None,
    seconds: float = math.inf,
) -> AsyncGenerator[StreamEvent, None]:  # fmt: skip
    """Yield the events of a stream for so many seconds, or until nothing has arrived for `idle_seconds`."""
    ends_at, failures = elapsed_seconds() + seconds, 0
    while True:
        failed: BridgeFault | None = None
        headers = {"Accept": "text/event-stream"}
        headers |= {"Last-Event-ID": last_event_id} if last_event_id else {}
        arriving = driver.pieces(Request("GET", path, query), headers, idle_seconds or SILENCE_SECONDS, ends_at)
        reader = StreamReader()
        try:
            # Closed with this generator, and its connection with it.
            async with aclosing(arriving) as pieces:
                async for piece in pieces:
                    for event in reader.feed(piece):
                        failures, last_event_id = 0, _resumed_after(event, last_event_id)
                        yield event
        except TimedOut as fault:
            if idle_seconds:
                return
            failed = fault
        except NotReachable as fault:
            failed = fault
        left, failures = ends_at - elapsed_seconds(), failures + 1
        if left <= 0:
            return
        if failures > RECONNECTS_MAX:
            raise failed or NotReachable(f"{driver.address.url} closes the event stream at every attempt.")
        await driver.pause(min(left, RECONNECT_SECONDS * 2.0 ** min(failures, 5)))


def _resumed_after(event: StreamEvent, last_event_id: str) -> str:
    """Return the id to resume after: the event's own; before the first one, the number in the opening frame."""
    if event.id:
        return event.id
    seq = event.body.get("seq") if isinstance(event.body, dict) else None
    opens = event.name == "stream.reset" or (event.name == "stream.ready" and not last_event_id)
    return last_event_id if seq is None or not opens else str(seq)


def feed_query(session_key: str | None, task_id: str | None, topic_id: str | None, names: Iterable[str]) -> Query:
    """Return the feed's parameters for a selection of events."""
    return {"sessionKey": session_key, "taskId": task_id, "topicId": topic_id, "events": ",".join(names)}


def read_event(frame: StreamEvent) -> Event | None:
    """Return the event in a frame; None for a frame that only says where the stream begins."""
    if frame.name == "stream.ready":
        return None
    if frame.name == "stream.reset":
        raise EventsMissed(str(frame.body.get("reason")), int(frame.body["seq"]))
    return read(Event, frame.body)
