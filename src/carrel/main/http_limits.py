"""Limits on a connection: size of the head, time for head and body to arrive, and time to read what is sent."""

import asyncio
import contextlib
import resource
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from carrel.kernel import limits


class _JoinedWrites:
    """A transport that sends the head of a response with its body: each alone would wake the client.

    A write that nothing follows goes out at the end of the loop's current round.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, together with what was written right before."""
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            self._transport.write(held + data)

    def close(self) -> None:
        """Send what is left, and close."""
        self._flush()
        self._transport.close()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Send what is left, and pass the connection on."""
        self._flush()
        self._transport.set_protocol(protocol)

    def _flush(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.write(held)


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's protocol, with limits on the size of the head and on how long reading and being read may take."""

    # Bytes received since the last complete head or body chunk: heads, trailers and anything else.
    _head_bytes = 0
    _alarm: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _JoinedWrites(transport, self.loop)))
        self._expect(limits.REQUEST_HEAD_SECONDS_MAX)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        # Closing would wait until everything is read, and keep it in memory.
        self._unread = self.loop.call_later(limits.STREAM_SEND_SECONDS_MAX, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    def data_received(self, arrived: bytes) -> None:
        self._head_bytes += len(arrived)
        super().data_received(arrived)
        if self._head_bytes > limits.REQUEST_HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse(f"The request head is larger than {limits.REQUEST_HEAD_BYTES_MAX} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect(limits.REQUEST_HEAD_SECONDS_MAX)

    def on_headers_complete(self) -> None:
        # A head that arrives whole, in one piece, is not noticed in `data_received`.
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > limits.REQUEST_HEAD_BYTES_MAX:
            # The parser stops, and uvicorn answers 400.
            raise ValueError(f"The request head is larger than {limits.REQUEST_HEAD_BYTES_MAX} bytes.")
        self._head_bytes = 0
        self._expect(limits.REQUEST_BODY_SECONDS_MAX)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._expect(None)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._expect(None)
        super().handle_websocket_upgrade()

    def _expect(self, seconds_max: float | None) -> None:
        """Start the timer for the next part of the request; None stops it."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if seconds_max is None else self.loop.call_later(seconds_max, self._end, seconds_max)

    def _end(self, seconds_max: float) -> None:
        if self.pipeline:
            # Nothing is read while an earlier request is being answered, so the delay is ours, not the client's.
            self._expect(seconds_max)
        elif self._head_bytes or self._is_answering():
            self._refuse("The request took too long to arrive.")
        else:
            # Browsers open connections in advance; nobody waits for an answer on one that was never used.
            self.transport.close()

    def _refuse(self, why: str) -> None:
        if self._is_answering():
            # The app is already handling half a request; it sees a disconnect.
            self.transport.close()
        else:
            self.send_400_response(why)

    def _is_answering(self) -> bool:
        # Before the first request `cycle` is None, although its type says otherwise.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete


def allow_many_connections() -> None:
    """Raise the limit of open files as far as allowed; every open stream is a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(limits.OPEN_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # If the system refuses, the current limit stays.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
