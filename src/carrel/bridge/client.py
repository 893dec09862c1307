"""A client for a Carrel server: typed operations, JSON requests, and event streams that reconnect and resume.

Cheap to import: it needs only the standard library, and loads the WebSocket of live text when that is used. Use a
client from one thread at a time.
"""

import http.client
import select
import ssl
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from carrel.bridge.api.api import Api
from carrel.bridge.api.feed import PIECE_BYTES_MAX
from carrel.bridge.api.operations import Blocking, Socket, finished
from carrel.bridge.api.replies import Live, listen
from carrel.bridge.api.requests import ANSWER_BYTES_MAX, CONNECT_SECONDS, Address, Request
from carrel.kernel import elapsed_seconds

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection


class Client(Api["HttpConnection"]):
    """Calls one server with one token; every method returns its result or raises a `BridgeFault`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self.driver.close()

    @contextmanager
    def listen(self, target: str | None = None) -> Iterator[Live]:
        """Receive the text of an agent's or a session's replies while it is written; see `Live.pieces`."""
        live = finished(listen(self.driver, target))
        try:
            yield live
        finally:
            finished(live.close())

    def post_raw(
        self, path: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float | None = None
    ) -> tuple[int, bytes]:
        """Post JSON as it is and return the status and the raw response."""
        typed = {**headers, "Content-Type": "application/json"}
        return self.driver.sent("POST", self.address.target(path), body, typed, timeout_seconds)

    def _open_driver(self, timeout_seconds: float) -> "HttpConnection":
        return HttpConnection(self.address, timeout_seconds)


class HttpConnection(Blocking):
    """One connection to the server, kept open between requests, and one more for each stream."""

    def __init__(self, address: Address, timeout_seconds: float) -> None:
        super().__init__(address, timeout_seconds)
        self._connection: http.client.HTTPConnection | None = None

    async def exchange(self, request: Request) -> Any:
        target = self.address.target(request.path, request.query)
        status, answer = self.sent(request.method, target, request.content, request.headers, request.timeout_seconds)
        return self.address.read(request, status, answer)

    async def pieces(
        self, request: Request, headers: dict[str, str], silence_seconds: float, ends_at: float
    ) -> AsyncGenerator[bytes, None]:
        connection = self._connect(CONNECT_SECONDS)
        try:
            # Kept here, because the connection drops its socket when the server announces that it will close.
            sock, target = connection.sock, self.address.target(request.path, request.query)
            connection.request(request.method, target, headers=self.address.headers | headers)
            response = connection.getresponse()
            if response.status != 200:
                self.address.parse(response.status, response.read(ANSWER_BYTES_MAX))
            while (left := ends_at - elapsed_seconds()) > 0:
                # Pings are pieces too, so each has its own limit.
                sock.settimeout(min(silence_seconds, left))
                piece = response.read1(PIECE_BYTES_MAX)
                if not piece:
                    return
                yield piece
        except TimeoutError as fault:
            raise self.address.silent(silence_seconds) from fault
        except (OSError, http.client.HTTPException) as fault:
            raise self.address.unreachable(fault) from fault
        finally:
            connection.close()

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  (this driver blocks)

    async def open_socket(self, url: str, options: dict[str, Any]) -> Socket:
        from websockets.sync.client import connect

        closing = ExitStack()
        return _Socket(closing.enter_context(connect(url, **options)), closing)

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def sent(
        self, method: str, target: str, content: bytes | None, extra: Mapping[str, str], timeout_seconds: float | None
    ) -> tuple[int, bytes]:
        """Make one request and return the status and the raw response."""
        seconds = timeout_seconds or self.timeout_seconds
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
        if not held or not held.sock or select.select([held.sock], [], [], 0)[0]:
            self.close()
            held = self._connection = self._connect(min(seconds, CONNECT_SECONDS))
        assert held.sock is not None
        held.sock.settimeout(seconds)
        return held

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        try:
            return connected(self.address.host, self.address.port, seconds, is_secure=self.address.is_secure)
        except OSError as fault:
            raise self.address.unreachable(fault) from fault


def connected(host: str, port: int | None, seconds: float, *, is_secure: bool) -> http.client.HTTPConnection:
    """Return an open connection, with the certificates of the machine and without a proxy of the environment."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    if is_secure:
        connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
    connection.connect()
    return connection


class _Socket:
    def __init__(self, connection: "ClientConnection", closing: ExitStack) -> None:
        self._connection = connection
        self._closing = closing

    async def send(self, text: str) -> None:
        self._connection.send(text)

    async def receive(self, seconds: float) -> str | bytes:
        return self._connection.recv(timeout=seconds)

    async def close(self) -> None:
        self._closing.close()
