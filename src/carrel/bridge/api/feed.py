"""The event feed as a client reads it: how a broken stream is resumed, and what its frames say."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from carrel.bridge.api.requests import Query
from carrel.bridge.api.shapes import Event, read
from carrel.bridge.faults import BridgeFault, EventsMissed, NotReachable
from carrel.bridge.stream import StreamEvent

FEED_PATH = "/api/stream"
# The server sends at least a ping every 25 seconds; twice that in silence means a lost connection.
SILENCE_SECONDS = 60.0
RECONNECTS_MAX = 8
RECONNECT_SECONDS = 0.25


class Follow(NamedTuple):
    """A part of the feed to follow: up to the first frame that ends it, or for `seconds`."""

    query: Query
    seconds: float
    last_event_id: str = ""
    ends: Callable[[StreamEvent], bool] = lambda _: True


class Resumption:
    """Where to resume a stream after a lost connection, and how often to try."""

    def __init__(self, last_event_id: str) -> None:
        self.last_event_id = last_event_id
        self._failures = 0

    def seen(self, event: StreamEvent) -> None:
        """Resume after this event from now on; before the first event, after the number in the opening frame."""
        self._failures = 0
        if event.id:
            self.last_event_id = event.id
            return
        seq = event.body.get("seq") if isinstance(event.body, dict) else None
        if seq is None or (event.name == "stream.ready" and self.last_event_id):
            return
        if event.name in ("stream.ready", "stream.reset"):
            self.last_event_id = str(seq)

    def pause_seconds(self, url: str, fault: BridgeFault | None) -> float:
        """Return how long to wait before connecting again; after too many failures in a row, raise."""
        self._failures += 1
        if self._failures > RECONNECTS_MAX:
            raise fault or NotReachable(f"{url} closes the event stream at every attempt.")
        return RECONNECT_SECONDS * 2.0 ** min(self._failures, 5)


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
