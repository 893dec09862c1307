"""What one connection may take of the server before its request is understood. It decides nothing about requests."""

import asyncio
import contextlib
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from carrel.kernel.limits import (
    OPEN_FILES_WANTED,
    REQUEST_BODY_SECONDS_MAX,
    REQUEST_HEAD_BYTES_MAX,
    REQUEST_HEAD_SECONDS_MAX,
)


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's protocol with a bound on the size of a head, and on how long head and body may take to arrive."""

    # How much arrived since a head was complete or a part of a body was: heads, trailers, and what is never used.
    _unplaced_bytes = 0
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect(REQUEST_HEAD_SECONDS_MAX)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, arrived: bytes) -> None:
        self._unplaced_bytes += len(arrived)
        super().data_received(arrived)
        if self._unplaced_bytes > REQUEST_HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse(f"The head of a request has at most {REQUEST_HEAD_BYTES_MAX} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect(REQUEST_HEAD_SECONDS_MAX)

    def on_headers_complete(self) -> None:
        self._unplaced_bytes = 0
        self._expect(REQUEST_BODY_SECONDS_MAX)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unplaced_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unplaced_bytes = 0
        self._expect(None)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._expect(None)
        super().handle_websocket_upgrade()

    def _expect(self, seconds_max: float | None) -> None:
        """Let the next part of the request arrive in time; None when no part is due."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if seconds_max is None else self.loop.call_later(seconds_max, self._end, seconds_max)

    def _end(self, seconds_max: float) -> None:
        if self.pipeline:
            # Nothing is read while an earlier request is answered: that is our slowness, not the sender's.
            self._expect(seconds_max)
        elif self._unplaced_bytes or self._is_answering():
            self._refuse("The request took too long to arrive.")
        else:
            # Opened ahead and never used, as browsers do: nobody waits for an answer.
            self.transport.close()

    def _refuse(self, why: str) -> None:
        if self._is_answering():
            # Half a request is at work already; it ends as if its sender had gone.
            self.transport.close()
        else:
            self.send_400_response(why)

    def _is_answering(self) -> bool:
        # Before the first request there is no cycle, whatever its type says.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete


def allow_many_connections() -> None:
    """Raise this process's limit of open files as far as it may: each open stream is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(OPEN_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Where the system refuses it, the limit it has given holds.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
