"""A bound on what a server sends: one that floods us is cut off, so that it takes no time from others."""

import asyncio
from types import TracebackType
from typing import Any, Self

from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage

from carrel.connectors.model import ServerFault
from carrel.kernel import elapsed_seconds
from carrel.kernel.limits import MCP_FLOOD_SECONDS, MCP_RECEIVED_BYTES_MAX, MCP_UNASKED_MESSAGES_MAX

CLOSED = "It closed the connection."


class FloodGuard:
    """Counts what a server sends within a few seconds; raises ServerFault when it is too much."""

    def __init__(self) -> None:
        self._since = elapsed_seconds()
        self._bytes = 0
        self._unasked = 0

    def asked(self) -> None:
        """Allow one more message: the answer to a request."""
        self._unasked -= 1

    def received(self, *, messages: int = 0, size: int = 0) -> None:
        """Count messages and bytes."""
        now = elapsed_seconds()
        if now - self._since > MCP_FLOOD_SECONDS:
            self._since, self._bytes, self._unasked = now, 0, min(0, self._unasked)
        self._bytes += size
        self._unasked += messages
        if self._bytes > MCP_RECEIVED_BYTES_MAX:
            raise ServerFault(f"It sent more than {MCP_RECEIVED_BYTES_MAX} bytes in {MCP_FLOOD_SECONDS} seconds.")
        if self._unasked > MCP_UNASKED_MESSAGES_MAX:
            raise ServerFault(
                f"It sent more than {MCP_UNASKED_MESSAGES_MAX} messages that nobody had asked for in "
                f"{MCP_FLOOD_SECONDS} seconds."
            )


class GuardedStream:
    """What a server sends, up to the end of the connection or a flood; then `ended` is set and `fault` says why."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], guard: FloodGuard) -> None:
        self._inner = inner
        self._guard = guard
        self.ended = asyncio.Event()
        self.fault = CLOSED

    @property
    def last_context(self) -> Any:
        """The context in which the newest message was sent, which the SDK's transport over HTTP keeps."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return await self._inner.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.__anext__()
            if isinstance(item, ServerFault):
                raise item
            self._guard.received(messages=1)
        except ServerFault as fault:
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

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:  # fmt: skip
        await self.aclose()
