"""The text of a reply while it is written, from the frames of the chat's WebSocket.

Frames may be missed, and a step that is sent again starts its text over. The pieces make up for both: those from the
last one that starts over are the reply.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from carrel.bridge.api.operations import Step
from carrel.bridge.api.runs import lane_of
from carrel.bridge.api.shapes import Fault, Item, Run, read_part
from carrel.bridge.api.wait import OnFault, read_run, wait_for_run
from carrel.bridge.faults import NotReachable, TimedOut
from carrel.kernel import elapsed_seconds

BIND_SECONDS = 5.0
# After this long without a frame, the run itself is read: the last frame may have been lost.
CHECK_SECONDS = 10.0
_NO_REPLY_STATES = ("waiting", "failed", "cancelled")


class Piece(NamedTuple):
    """Some text of a reply; if it starts over, what came before it is void."""

    text: str
    starts_over: bool = False


class Receive(NamedTuple):
    """Receive the next frame; None when none has come in time."""

    seconds: float


class Send(NamedTuple):
    """Send a frame."""

    frame: Item


T = TypeVar("T")
Binding = Generator[Send | Receive, Any, bool]
Reply = Generator[Step | Receive | Piece, Any, T]


def binding(target: str | None) -> Binding:
    """Listen to a session from now on; False if the server refuses or says nothing."""
    until = elapsed_seconds() + BIND_SECONDS
    try:
        yield Send({"type": "bind", "sessionId": lane_of(target)})
        while (left := until - elapsed_seconds()) > 0:
            frame = yield Receive(left)
            if frame and (frame.get("payload") or {}).get("bound"):
                return True
            if frame and frame.get("eventType") == "error" and not frame.get("runId"):
                return False
    except NotReachable:
        pass
    return False


def reply_pieces(run_id: str, seconds: float, on_fault: OnFault | None, *, is_live: bool) -> Reply[None]:
    """Yield the text of a run's reply until the run has ended or waits for somebody."""
    until, text = elapsed_seconds() + seconds, _Text()
    run: Run | None = None
    if is_live:
        try:
            run = yield from _while_written(run_id, until, text, on_fault)
        except NotReachable:
            is_live = False
    if not is_live:
        # Without live text, the reply comes as a whole.
        run = yield from wait_for_run(run_id, max(0.0, until - elapsed_seconds()), on_fault)
    if piece := text.completed((run.reply or "") if run and run.state == "completed" else ""):
        yield piece


def _while_written(run_id: str, until: float, text: "_Text", on_fault: OnFault | None) -> Reply[Run | None]:
    """Yield text from the frames; return None once the reply is complete, or the run if it ended without one."""
    frame: Item | None = None
    while True:
        is_late = elapsed_seconds() >= until
        if frame is None or is_late or _says_no_reply(frame):
            run = yield from read_run(run_id)
            if run.settled:
                return run
            if is_late:
                raise TimedOut(f"The run {run_id} is still {run.state}.")
        frame = yield Receive(max(0.0, min(CHECK_SECONDS, until - elapsed_seconds())))
        if frame is None or frame.get("runId") != run_id:
            continue
        if piece := _taken(frame, text, on_fault):
            yield piece
        if frame.get("type") == "assistant_done":
            return None


def _says_no_reply(frame: Item) -> bool:
    return (frame.get("payload") or {}).get("state") in _NO_REPLY_STATES


def _taken(frame: Item, text: "_Text", on_fault: OnFault | None) -> Piece | None:
    """Return the piece that a frame of the run adds to its text."""
    payload = frame.get("payload") or {}
    if frame.get("type") == "assistant_chunk":
        return text.added(frame.get("text") or "")
    if frame.get("type") == "assistant_done":
        return text.completed(frame.get("text") or "")
    if payload.get("restart"):
        text.void()
    elif payload.get("name") in ("run.retrying", "run.held") and on_fault:
        on_fault(read_part(Fault, payload))
    return None


class _Text:
    """The text of a reply that was yielded so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_void = False

    def void(self) -> None:
        """Start over, if anything was yielded."""
        self._is_void = bool(self._pieces)
        self._pieces = []

    def added(self, words: str) -> Piece | None:
        """Return the piece that adds these words."""
        if not words:
            return None
        starts_over, self._is_void = self._is_void, False
        self._pieces.append(words)
        return Piece(words, starts_over)

    def completed(self, reply: str) -> Piece | None:
        """Return the piece that completes the text to the reply; None if it is complete, or there is no reply."""
        so_far = "".join(self._pieces)
        if reply.startswith(so_far):
            return self.added(reply[len(so_far) :])
        self.void()
        return self.added(reply)
