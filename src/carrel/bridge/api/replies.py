"""The text of replies while it is written, over the chat's WebSocket. Without it, replies still arrive complete.

Frames may be missed, and a step that is sent again starts its text over. The pieces make up for both: those from the
last one that starts over are the reply.
"""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import NamedTuple, TypeVar

from carrel.bridge.api.operations import Awaiting, Blocking, D_co, Driver, Group, Socket, iteration, operation
from carrel.bridge.api.resources import WAIT_SECONDS, lane_of
from carrel.bridge.api.shapes import Fault, Item, Run, read_part
from carrel.bridge.api.wait import OnFault, read_run, wait_for_run
from carrel.bridge.faults import NotReachable, TimedOut
from carrel.kernel import elapsed_seconds

BIND_SECONDS = 5.0
# After this long without a frame, the run itself is read: the last frame may have been lost.
CHECK_SECONDS = 10.0
_OPEN_SECONDS = 5.0
_NO_REPLY_STATES = ("waiting", "failed", "cancelled")
V = TypeVar("V", bound=Blocking | Awaiting)
_LOST = "The connection for live text was lost."


class Piece(NamedTuple):
    """Some text of a reply; if it starts over, what came before it is void."""

    text: str
    starts_over: bool = False


class LiveText(Group[D_co]):
    """A connection that receives what is being written in one or more sessions."""

    def __init__(self, driver: D_co, socket: Socket | None) -> None:
        super().__init__(driver)
        self._socket = socket
        # Whether text arrives while it is written; else replies come as a whole.
        self.is_open = False

    @operation
    async def bind(self, target: str | None) -> bool:
        """Also listen to this agent or session from now on; False if its text cannot be received live."""
        return await self.hear(target)

    async def hear(self, target: str | None) -> bool:
        """Do what `bind` does."""
        until = elapsed_seconds() + BIND_SECONDS
        with suppress(NotReachable):
            socket = self._open_socket()
            with _lost_when_closed():
                await socket.send(json.dumps({"type": "bind", "sessionId": lane_of(target)}))
            while (left := until - elapsed_seconds()) > 0:
                frame = await self._receive(left)
                if frame and (frame.get("payload") or {}).get("bound"):
                    self.is_open = True
                    return True
                if frame and frame.get("eventType") == "error" and not frame.get("runId"):
                    break
        return False

    @iteration
    async def pieces(
        self, run_id: str, *, timeout_seconds: float = WAIT_SECONDS, on_fault: OnFault | None = None
    ) -> AsyncGenerator[Piece, None]:
        """Yield the text of a run's reply until the run has ended or waits for somebody.

        The pieces from the last one that starts over make up the reply. `on_fault` is called with every attempt that
        fails and will be repeated. `TimedOut` is raised if the run takes longer.
        """
        until, text = elapsed_seconds() + timeout_seconds, _Text()
        run, is_complete = None, False
        if self.is_open:
            with suppress(NotReachable):
                async with aclosing(self._frames(run_id, until)) as frames:
                    async for frame in frames:
                        if isinstance(frame, Run):
                            run = frame
                        elif piece := _taken(frame, text, on_fault):
                            yield piece
                is_complete = True
        if not is_complete:
            # Without live text, the reply comes as a whole.
            run = await wait_for_run(self.driver, run_id, max(0.0, until - elapsed_seconds()), on_fault)
        if piece := text.completed((run.reply or "") if run and run.state == "completed" else ""):
            yield piece

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()

    async def _frames(self, run_id: str, until: float) -> AsyncGenerator[Item | Run, None]:
        """Yield the frames of a run up to its reply, or the run itself if it ends without one."""
        frame: Item | None = None
        while True:
            is_late = elapsed_seconds() >= until
            if frame is None or is_late or (frame.get("payload") or {}).get("state") in _NO_REPLY_STATES:
                run = await read_run(self.driver, run_id)
                if run.settled:
                    yield run
                    return
                if is_late:
                    raise TimedOut(f"The run {run_id} is still {run.state}.")
            frame = await self._receive(max(0.0, min(CHECK_SECONDS, until - elapsed_seconds())))
            if frame is not None and frame.get("runId") == run_id:
                yield frame
                if frame.get("type") == "assistant_done":
                    return

    async def _receive(self, seconds: float) -> Item | None:
        socket = self._open_socket()
        with _lost_when_closed(), suppress(TimeoutError):
            frame: Item = json.loads(await socket.receive(seconds))
            return frame
        return None

    def _open_socket(self) -> Socket:
        if self._socket is None:
            raise NotReachable(_LOST)
        return self._socket


Live = LiveText[Blocking]
AsyncLive = LiveText[Awaiting]


async def listen(driver: V, target: str | None) -> LiveText[V]:
    """Listen to a session from now on, if that is possible."""
    live = LiveText(driver, await _opened(driver))
    await live.hear(target)
    return live


async def _opened(driver: Driver) -> Socket | None:
    try:
        from websockets.exceptions import WebSocketException
    except ImportError:
        return None
    address = driver.address
    offered = [f"bearer.{address.token}"] if address.token else None
    # Like all other requests, this one goes to the server itself and not through a proxy of the environment.
    options = {"subprotocols": offered, "open_timeout": _OPEN_SECONDS, "proxy": None}
    try:
        return await driver.open_socket("ws" + address.url.removeprefix("http") + "/ws/chat", options)
    except (OSError, WebSocketException):
        return None


@contextmanager
def _lost_when_closed() -> Iterator[None]:
    from websockets.exceptions import ConnectionClosed

    try:
        yield
    except (ConnectionClosed, ValueError) as fault:
        raise NotReachable(_LOST) from fault


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
