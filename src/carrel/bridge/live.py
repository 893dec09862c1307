"""The text of replies while it is written, over the chat's WebSocket. Without it, replies still arrive complete."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from carrel.bridge.api.feed import Follow
from carrel.bridge.api.operations import Awaiting, Blocking, Step, awaited, performed
from carrel.bridge.api.replies import Piece, Receive, Send, binding, reply_pieces
from carrel.bridge.api.requests import Address, Request
from carrel.bridge.api.runs import WAIT_SECONDS
from carrel.bridge.api.wait import OnFault
from carrel.bridge.faults import BridgeFault, NotReachable

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection as AsyncSocket
    from websockets.sync.client import ClientConnection as Socket

_OPEN_SECONDS = 5.0
_LOST = "The connection for live text was lost."


class Live:
    """A connection that receives what is being written in one or more sessions."""

    def __init__(self, client: Blocking, socket: "Socket | None") -> None:
        self._client = client
        self._socket = socket
        self._is_bound = False

    @property
    def is_open(self) -> bool:
        """Whether text arrives while it is written; else replies come as a whole."""
        return self._is_bound

    def bind(self, target: str | None) -> bool:
        """Also listen to this agent or session from now on; False if its text cannot be received live."""
        bound = performed(binding(target), self._act)
        self._is_bound |= bound
        return bound

    def pieces(
        self, run_id: str, *, timeout_seconds: float = WAIT_SECONDS, on_fault: OnFault | None = None
    ) -> Iterator[Piece]:
        """Yield the text of a run's reply until the run has ended or waits for somebody.

        The pieces from the last one that starts over make up the reply. `on_fault` is called with every attempt that
        fails and will be repeated. `TimedOut` is raised if the run takes longer.
        """
        course = reply_pieces(run_id, timeout_seconds, on_fault, is_live=self.is_open)
        try:
            step = next(course)
            while True:
                answer = None
                try:
                    if isinstance(step, Piece):
                        yield step
                    else:
                        answer = self._act(step)
                except BridgeFault as fault:
                    step = course.throw(fault)
                else:
                    step = course.send(answer)
        except StopIteration:
            return

    def _act(self, step: Step | Receive | Send) -> Any:
        if isinstance(step, Request | Follow):
            return self._client.act(step)
        if self._socket is None:
            raise NotReachable(_LOST)
        from websockets.exceptions import ConnectionClosed

        try:
            if isinstance(step, Send):
                return self._socket.send(json.dumps(step.frame))
            return json.loads(self._socket.recv(timeout=step.seconds))
        except TimeoutError:
            return None
        except (ConnectionClosed, ValueError) as fault:
            raise NotReachable(_LOST) from fault


class AsyncLive:
    """Like `Live`, for asyncio."""

    def __init__(self, client: Awaiting, socket: "AsyncSocket | None") -> None:
        self._client = client
        self._socket = socket
        self._is_bound = False

    @property
    def is_open(self) -> bool:
        """Whether text arrives while it is written; else replies come as a whole."""
        return self._is_bound

    async def bind(self, target: str | None) -> bool:
        """Also listen to this agent or session from now on; False if its text cannot be received live."""
        bound = await awaited(binding(target), self._act)
        self._is_bound |= bound
        return bound

    async def pieces(
        self, run_id: str, *, timeout_seconds: float = WAIT_SECONDS, on_fault: OnFault | None = None
    ) -> AsyncIterator[Piece]:
        """Yield the text of a run's reply until the run has ended or waits for somebody; see `Live.pieces`."""
        course = reply_pieces(run_id, timeout_seconds, on_fault, is_live=self.is_open)
        try:
            step = next(course)
            while True:
                answer = None
                try:
                    if isinstance(step, Piece):
                        yield step
                    else:
                        answer = await self._act(step)
                except BridgeFault as fault:
                    step = course.throw(fault)
                else:
                    step = course.send(answer)
        except StopIteration:
            return

    async def _act(self, step: Step | Receive | Send) -> Any:
        if isinstance(step, Request | Follow):
            return await self._client.act(step)
        if self._socket is None:
            raise NotReachable(_LOST)
        import asyncio

        from websockets.exceptions import ConnectionClosed

        try:
            if isinstance(step, Send):
                return await self._socket.send(json.dumps(step.frame))
            async with asyncio.timeout(step.seconds):
                return json.loads(await self._socket.recv())
        except TimeoutError:
            return None
        except (ConnectionClosed, ValueError) as fault:
            raise NotReachable(_LOST) from fault


@contextmanager
def opened_socket(address: Address) -> Iterator["Socket | None"]:
    """Open a connection for live text; None when that is not possible."""
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    except ImportError:
        yield None
        return
    try:
        socket = connect(_url(address), **_options(address))
    except (OSError, WebSocketException):
        yield None
        return
    with socket:
        yield socket


@asynccontextmanager
async def opened_async_socket(address: Address) -> AsyncIterator["AsyncSocket | None"]:
    """Open a connection for live text; None when that is not possible."""
    try:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException
    except ImportError:
        yield None
        return
    try:
        socket = await connect(_url(address), **_options(address))
    except (OSError, WebSocketException):
        yield None
        return
    async with socket:
        yield socket


def _url(address: Address) -> str:
    return "ws" + address.url.removeprefix("http") + "/ws/chat"


def _options(address: Address) -> dict[str, Any]:
    # Like all other requests, this one goes to the server itself and not through a proxy of the environment.
    offered = [f"bearer.{address.token}"] if address.token else None
    return {"subprotocols": offered, "open_timeout": _OPEN_SECONDS, "proxy": None}
