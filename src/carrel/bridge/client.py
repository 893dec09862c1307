"""A client for a Carrel server: typed operations, JSON requests, and event streams that reconnect and resume.

Cheap to import: it needs only the standard library, and loads the WebSocket of live text when that is used. Use a
client from one thread at a time.
"""

import http.client
import math
import select
import socket
import ssl
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from types import TracebackType
from typing import Any, Self

from carrel.bridge.api.api import Api
from carrel.bridge.api.feed import FEED_PATH, SILENCE_SECONDS, Follow, Resumption, feed_query, read_event
from carrel.bridge.api.operations import Blocking
from carrel.bridge.api.requests import ANSWER_BYTES_MAX, CONNECT_SECONDS, LINE_BYTES_MAX, Query, Request
from carrel.bridge.api.shapes import Event
from carrel.bridge.faults import BridgeFault, NotReachable, TimedOut
from carrel.bridge.live import Live, opened_socket
from carrel.bridge.stream import StreamEvent, read_events
from carrel.kernel import elapsed_seconds


class Client(Api[Blocking], Blocking):
    """Calls one server with one token; every method returns its result or raises a `BridgeFault`."""

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        super().__init__(url, token, timeout_seconds=timeout_seconds)
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def driver(self) -> Blocking:
        """The client itself."""
        return self

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def events(
        self, *, after: int | None = None, session_key: str | None = None, task_id: str | None = None,
        topic_id: str | None = None, names: Iterable[str] = (), idle_seconds: float | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """Yield the events of the feed after a number, and then new ones; without a number only new ones.

        A lost connection is resumed where it broke. `names` are names of events or their beginnings. With
        `idle_seconds` it ends once nothing has arrived for that long. `EventsMissed` says that some are lost.
        """
        query = feed_query(session_key, task_id, topic_id, names)
        last = "" if after is None else str(after)
        for frame in self.stream(FEED_PATH, query, last_event_id=last, idle_seconds=idle_seconds):
            if event := read_event(frame):
                yield event

    @contextmanager
    def listen(self, target: str | None = None) -> Iterator[Live]:
        """Receive the text of an agent's or a session's replies while it is written; see `Live.pieces`."""
        with opened_socket(self.address) as socket:
            live = Live(self, socket)
            live.bind(target)
            yield live

    def stream(
        self, path: str, query: Query | None = None, *, last_event_id: str = "", idle_seconds: float | None = None,
        seconds: float = math.inf,
    ) -> Generator[StreamEvent, None, None]:  # fmt: skip
        """Yield events as they arrive; after a lost connection, reconnect and resume after the last one seen.

        The stream ends without an error after `seconds`, and with `idle_seconds` once nothing has arrived for that
        long. After some failed attempts in a row it raises `NotReachable`.
        """
        place, ends_at = Resumption(last_event_id), elapsed_seconds() + seconds
        while True:
            failed: BridgeFault | None = None
            try:
                for event in self._events(path, query, place.last_event_id, idle_seconds or SILENCE_SECONDS, ends_at):
                    place.seen(event)
                    yield event
            except TimedOut as fault:
                if idle_seconds:
                    return
                failed = fault
            except NotReachable as fault:
                failed = fault
            left = ends_at - elapsed_seconds()
            if left <= 0:
                return
            time.sleep(min(left, place.pause_seconds(self.url, failed)))

    def _events(
        self, path: str, query: Query | None, last_event_id: str, silence_seconds: float, ends_at: float
    ) -> Iterator[StreamEvent]:
        """Yield the events of one connection of its own, so that requests can be made between two of them."""
        connection = self._connect(CONNECT_SECONDS)
        try:
            headers = self.address.headers | {"Accept": "text/event-stream"}
            if last_event_id:
                headers["Last-Event-ID"] = last_event_id
            # Kept here, because the connection drops its socket when the server announces that it will close.
            sock = connection.sock
            connection.request("GET", self.address.target(path, query), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                self.address.parse(response.status, response.read(ANSWER_BYTES_MAX))
            yield from read_events(_lines(response, sock, silence_seconds, ends_at))
        except TimeoutError as fault:
            raise self.address.silent(silence_seconds) from fault
        except (OSError, http.client.HTTPException) as fault:
            raise self.address.unreachable(fault) from fault
        finally:
            connection.close()

    def exchange(self, request: Request) -> Any:
        """Make one request and return what the server said."""
        target = self.address.target(request.path, request.query)
        status, answer = self._sent(request.method, target, request.content, request.headers, request.timeout_seconds)
        return self.address.read(request, status, answer)

    def follow(self, part: Follow) -> StreamEvent | None:
        """Follow a part of the feed and return the frame that ends it; None when the time is up."""
        frames = self.stream(FEED_PATH, part.query, last_event_id=part.last_event_id, seconds=part.seconds)
        with closing(frames):
            return next(filter(part.ends, frames), None)

    def post_raw(
        self, path: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float | None = None
    ) -> tuple[int, bytes]:
        """Post JSON as it is and return the status and the raw response."""
        typed = {**headers, "Content-Type": "application/json"}
        return self._sent("POST", self.address.target(path), body, typed, timeout_seconds)

    def _sent(
        self, method: str, target: str, content: bytes | None, extra: Mapping[str, str], timeout_seconds: float | None
    ) -> tuple[int, bytes]:
        seconds = timeout_seconds or self._timeout_seconds
        try:
            connection = self._open_connection(seconds)
            connection.request(method, target, body=content, headers=self.address.headers | dict(extra))
            response = connection.getresponse()
            answer = response.read(ANSWER_BYTES_MAX)
        except TimeoutError as fault:
            self.close()
            raise self.address.late(seconds) from fault
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            raise self.address.unreachable(fault) from fault
        except BaseException:
            # An interrupted request leaves half a response on the connection.
            self.close()
            raise
        if response.will_close:
            self.close()
        return response.status, answer

    def _open_connection(self, seconds: float) -> http.client.HTTPConnection:
        """Return the open connection, or a new one if the server has closed it.

        Checking before sending means that no request has to be sent twice.
        """
        held = self._connection
        if held and held.sock and select.select([held.sock], [], [], 0)[0]:
            self.close()
        if not self._connection or not self._connection.sock:
            self._connection = self._connect(min(seconds, CONNECT_SECONDS))
        assert self._connection.sock is not None
        self._connection.sock.settimeout(seconds)
        return self._connection

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        connection: http.client.HTTPConnection
        if self.address.is_secure:
            connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        else:
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        try:
            connection.connect()
        except OSError as fault:
            raise self.address.unreachable(fault) from fault
        return connection


def _lines(
    response: http.client.HTTPResponse, sock: socket.socket, silence_seconds: float, ends_at: float
) -> Iterator[bytes]:
    """Yield the lines of a response until it ends or the time is up; pings are lines too, so each has its own limit."""
    while (left := ends_at - elapsed_seconds()) > 0:
        sock.settimeout(min(silence_seconds, left))
        line = response.readline(LINE_BYTES_MAX)
        if not line:
            return
        yield line
