"""An answer that goes on: frames of server-sent events, sent as they come, with an end that nothing can hold up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from logging import getLogger

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from carrel.kernel import Refusal, elapsed_seconds
from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_PING_SECONDS, STREAM_SEND_SECONDS_MAX

_log = getLogger("carrel.surfaces")
PING = b": ping\n\n"
# To many readers of lines these end one as well, the official A2A client among them; JSON can write them otherwise.
_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
_SEEN_DIGITS_MAX = 18
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def seen_event(text: str) -> int | None:
    """The number of the last event that a reader says it has seen; None for what is no such number."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _SEEN_DIGITS_MAX
    return int(text) if is_number else None


class FrameStream(Response):
    """An answer that goes on until its frames end, the reader leaves or lags, its token ends, or the server stops."""

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        *,
        closing: asyncio.Event,
        still_allowed: Callable[[], Awaitable[bool]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=200, headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._frames = frames
        self._closing = closing
        self._still_allowed = still_allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            kept_up = await self._until_the_end(receive, send)
            if not kept_up:
                # Not finished in form: a reader that does not read is cut off and comes back with its last id.
                return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STREAM_END_SECONDS_MAX):
                await send({"type": "http.response.body", "body": b""})

    async def _until_the_end(self, receive: Receive, send: Send) -> bool:
        """Send until something ends it; False when it was that the reader does not keep up."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send_all(send))
            ends = {sending, group.create_task(_gone(receive)), group.create_task(self._closing.wait())}
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends - done:
                end.cancel()
        return sending.cancelled() or sending.result()

    async def _send_all(self, send: Send) -> bool:
        """Send frames until no more can follow; False when the reader must come back for the rest."""
        try:
            return await self._send_frames(send)
        except Refusal as refusal:
            # Only a store that is away refuses here; whoever comes back with the last id misses nothing.
            _log.warning("stream_broken_off", extra={"error_code": refusal.code, "reason": refusal.message})
            return False

    async def _send_frames(self, send: Send) -> bool:
        """Send frames as long as they are wanted and allowed; False when the reader does not take them."""
        seen = elapsed_seconds()
        async for frame in self._frames:
            try:
                async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
                    await send({"type": "http.response.body", "body": _lined(frame), "more_body": True})
            except TimeoutError:
                why = f"Its reader took nothing for {STREAM_SEND_SECONDS_MAX} seconds."
                _log.warning("stream_broken_off", extra={"error_code": "timeout", "reason": why})
                return False
            if elapsed_seconds() - seen >= STREAM_PING_SECONDS:
                seen = elapsed_seconds()
                if not await self._still_allowed():
                    return True
        return True


def _lined(frame: bytes) -> bytes:
    """The frame with no more ends of lines in it than everybody sees there."""
    for raw, escaped in _LINE_ENDS:
        frame = frame.replace(raw, escaped)
    return frame


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
