"""Limits what a server sends: a flood is cut off."""

import asyncio
from typing import Any, Self

from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage

from carrel.programs import FloodGuard, ProgramFault

CLOSED = "It closed the connection."


class GuardedStream:
    """The messages of a server until it disconnects or floods; then `ended` is set and `fault` says why."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], guard: FloodGuard) -> None:
        self._inner = inner
        self._guard = guard
        self.ended = asyncio.Event()
        self.fault = CLOSED

    @property
    def last_context(self) -> Any:
        """The context in which the newest message was sent, which the SDK's HTTP transport records."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return await self._inner.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.__anext__()
            if isinstance(item, ProgramFault):
                raise item
            self._guard.received(messages=1)
        except ProgramFault as fault:
            self.fault = str(fault)
            self.ended.set()
            raise StopAsyncIteration from fault
        except BaseException:
            self.ended.set()
            raise
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
