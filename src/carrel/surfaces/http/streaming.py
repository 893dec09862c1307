"""Responses that stream server-sent events. Nothing a client does can delay their end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from logging import getLogger
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from carrel.kernel import Refusal
from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_SEND_SECONDS_MAX

_log = getLogger("carrel.surfaces")
PING = b": ping\n\n"
# Many parsers, the official A2A client among them, also end a line at these; JSON can escape them.
_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
_SEEN_DIGITS_MAX = 18
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def first_to_end(*works: Coroutine[Any, Any, object]) -> list[asyncio.Task[Any]]:
    """Run coroutines until one of them has ended, and cancel the others; return their tasks in the same order."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
    return tasks


def seen_event(text: str) -> int | None:
    """Return the number of the last event that a client says it received; None when it is not a number."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _SEEN_DIGITS_MAX
    return int(text) if is_number else None


class FrameStream(Response):
    """A response that streams until its frames end, the client leaves or lags, its token ends, or the server stops."""

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        *,
        closing: asyncio.Event,
        until_revoked: Callable[[], Coroutine[Any, Any, Refusal]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=200, headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._frames = frames
        self._closing = closing
        self._until_revoked = until_revoked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            kept_up = await self._stream(receive, send)
            if not kept_up:
                # The response stays unfinished: a client that does not read is cut off and reconnects with its last id.
                return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STREAM_END_SECONDS_MAX):
                await send({"type": "http.response.body", "body": b""})

    async def _stream(self, receive: Receive, send: Send) -> bool:
        """Send until something ends it; False when the client does not keep up."""
        sending, *_ = await first_to_end(
            self._send_all(send), _disconnected(receive), self._closing.wait(), self._until_revoked()
        )
        return sending.cancelled() or bool(sending.result())

    async def _send_all(self, send: Send) -> bool:
        """Send all frames; False if the client must reconnect for the rest."""
        try:
            return await self._send_frames(send)
        except Refusal as refusal:
            # Only an unavailable database refuses here; a client that reconnects with its last id misses nothing.
            _log.warning("stream_broken_off", extra={"error_code": refusal.code, "reason": refusal.message})
            return False

    async def _send_frames(self, send: Send) -> bool:
        """Send all frames; False if the client does not read them."""
        async for frame in self._frames:
            try:
                async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
                    await send({"type": "http.response.body", "body": _escape_line_ends(frame), "more_body": True})
            except TimeoutError:
                why = f"The client read nothing for {STREAM_SEND_SECONDS_MAX} seconds."
                _log.warning("stream_broken_off", extra={"error_code": "timeout", "reason": why})
                return False
        return True


def _escape_line_ends(frame: bytes) -> bytes:
    """Escape the characters that only some parsers take for the end of a line."""
    for raw, escaped in _LINE_ENDS:
        frame = frame.replace(raw, escaped)
    return frame


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
