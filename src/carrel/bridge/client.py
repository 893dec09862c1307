"""A client for a Carrel server: JSON requests, and event streams that reconnect and resume.

Standard library only, so that importing it is cheap. Use a client from one thread at a time.
"""

import http
import http.client
import json
import math
import select
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut
from carrel.bridge.stream import StreamEvent, read_events
from carrel.kernel import elapsed_seconds

ANSWER_BYTES_MAX = 64 * 1024 * 1024
LINE_BYTES_MAX = 4 * 1024 * 1024
CONNECT_SECONDS = 5.0
# The server sends at least a ping every 25 seconds; twice that in silence means a lost connection.
SILENCE_SECONDS = 60.0
RECONNECTS_MAX = 8
RECONNECT_SECONDS = 0.25

Query = Mapping[str, object]


class Client:
    """Calls one server with one token; every method returns the parsed response or raises a `BridgeFault`."""

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NotReachable(f"{url} is not the URL of a server; use one like http://127.0.0.1:8787.")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.token = token
        self._timeout_seconds = timeout_seconds
        self._parts = parts
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def get(self, path: str, query: Query | None = None, *, timeout_seconds: float | None = None) -> Any:
        """Send a GET request."""
        return self._request("GET", path, query=query, timeout_seconds=timeout_seconds)

    def post(
        self, path: str, body: object = None, *, idempotency_key: str = "", timeout_seconds: float | None = None
    ) -> Any:
        """Send a POST request; with an idempotency key it is safe to send it twice."""
        extra = {"X-Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._request(
            "POST", path, body={} if body is None else body, extra=extra, timeout_seconds=timeout_seconds
        )

    def patch(self, path: str, body: object) -> Any:
        """Send a PATCH request."""
        return self._request("PATCH", path, body=body)

    def delete(self, path: str) -> Any:
        """Send a DELETE request."""
        return self._request("DELETE", path)

    def download(self, path: str) -> bytes:
        """Return the bytes of a file."""
        status, content = self._exchange("GET", self._target(path, None), None, {}, None)
        if status != http.HTTPStatus.OK:
            self._parse(status, content)
        return content

    def stream(
        self,
        path: str,
        query: Query | None = None,
        *,
        last_event_id: str = "",
        idle_seconds: float | None = None,
        seconds: float = math.inf,
    ) -> Iterator[StreamEvent]:
        """Yield events as they arrive; after a lost connection, reconnect and resume after the last one seen.

        The stream ends without an error after `seconds`, and with `idle_seconds` once nothing has arrived for that
        long. After `RECONNECTS_MAX` failed attempts in a row it raises `NotReachable`.
        """
        failures, ends_at = 0, elapsed_seconds() + seconds
        while failures <= RECONNECTS_MAX:
            failures += 1
            try:
                for event in self._events(path, query, last_event_id, idle_seconds or SILENCE_SECONDS, ends_at):
                    failures = 0
                    last_event_id = _cursor_after(event, last_event_id)
                    yield event
            except TimedOut:
                if idle_seconds:
                    return
            except NotReachable:
                if failures > RECONNECTS_MAX:
                    raise
            left = ends_at - elapsed_seconds()
            if left <= 0:
                return
            time.sleep(min(left, RECONNECT_SECONDS * 2 ** min(failures, 5)))
        raise NotReachable(f"{self.url} closes the event stream at every attempt.")

    def _events(
        self, path: str, query: Query | None, last_event_id: str, silence_seconds: float, ends_at: float
    ) -> Iterator[StreamEvent]:
        """Yield the events of one connection of its own, so that requests can be made between two of them."""
        connection = self._connect(CONNECT_SECONDS)
        try:
            headers = self._headers() | {"Accept": "text/event-stream"}
            if last_event_id:
                headers["Last-Event-ID"] = last_event_id
            # Kept here, because the connection drops its socket when the server announces that it will close.
            sock = connection.sock
            connection.request("GET", self._target(path, query), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                self._parse(response.status, response.read(ANSWER_BYTES_MAX))
            yield from read_events(_lines(response, sock, silence_seconds, ends_at))
        except TimeoutError as fault:
            raise TimedOut(f"{self.url} has sent nothing for {silence_seconds:g} seconds.") from fault
        except (OSError, http.client.HTTPException) as fault:
            raise self._unreachable(fault) from fault
        finally:
            connection.close()

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        extra: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
    ) -> Any:
        text = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        status, answer = self._exchange(method, self._target(path, query), text, dict(extra or {}), timeout_seconds)
        return self._parse(status, answer)

    def post_raw(
        self, path: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float | None = None
    ) -> tuple[int, bytes]:
        """Post JSON as it is and return the status and the raw response."""
        return self._exchange("POST", self._target(path, None), body, headers, timeout_seconds)

    def _exchange(
        self, method: str, target: str, text: bytes | None, extra: Mapping[str, str], timeout_seconds: float | None
    ) -> tuple[int, bytes]:
        seconds = timeout_seconds or self._timeout_seconds
        headers = self._headers() | dict(extra)
        if text is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection = self._open_connection(seconds)
            connection.request(method, target, body=text, headers=headers)
            response = connection.getresponse()
            answer = response.read(ANSWER_BYTES_MAX)
        except TimeoutError as fault:
            self.close()
            raise TimedOut(f"{self.url} did not answer within {seconds:g} seconds.") from fault
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            raise self._unreachable(fault) from fault
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
        host, port = self._parts.hostname or "", self._parts.port
        connection: http.client.HTTPConnection
        if self._parts.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        else:
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        try:
            connection.connect()
        except OSError as fault:
            raise self._unreachable(fault) from fault
        return connection

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "carrel-bridge"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _target(self, path: str, query: Query | None) -> str:
        given = {name: _plain(value) for name, value in (query or {}).items() if value is not None and value != ""}
        return self._parts.path.rstrip("/") + path + ("?" + urlencode(given, quote_via=quote) if given else "")

    def _unreachable(self, fault: Exception) -> NotReachable:
        reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        return NotReachable(f"No Carrel server answers at {self.url} ({reason}).")

    def _parse(self, status: int, answer: bytes) -> Any:
        try:
            parsed = json.loads(answer) if answer else None
        except ValueError as fault:
            if status < 400:
                raise NotReachable(f"{self.url} responds, but not like a Carrel server.") from fault
            parsed = None
        if status >= 400:
            raise _refusal(status, parsed)
        return parsed


def segment(text: str) -> str:
    """Return a key or id as one segment of a path."""
    return quote(text, safe="")


def _refusal(status: int, parsed: object) -> BridgeFault:
    error = parsed.get("error") if isinstance(parsed, dict) else None
    if not isinstance(error, dict):
        return Refused(status, "unreadable", f"The server responded with {status} and no reason.", answer=parsed)
    message = str(error.get("message") or f"The server responded with {status}.")
    return Refused(status, str(error.get("code") or ""), message, error.get("field"), answer=parsed)


def _cursor_after(event: StreamEvent, cursor: str) -> str:
    """Return the id to resume after; before any other event, it is the one in the opening frame."""
    if event.id:
        return event.id
    seq = event.body.get("seq") if isinstance(event.body, dict) else None
    if seq is None or (event.name == "stream.ready" and cursor):
        return cursor
    return str(seq) if event.name in ("stream.ready", "stream.reset") else cursor


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


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
