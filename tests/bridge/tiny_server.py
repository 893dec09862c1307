"""A tiny real HTTP server with scripted responses, for tests of API clients."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


class Asked(NamedTuple):
    """A request as the server received it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Frames(NamedTuple):
    """A response in pieces; after the last one the server closes the connection."""

    pieces: Iterator[bytes]


class HangUp(NamedTuple):
    """A whole response after which the server closes the connection without announcing it."""

    body: Any


class HangsUp(ConnectionError):
    """Raised to close the connection without any response."""


class Raw(NamedTuple):
    """A response that is not JSON."""

    text: bytes


Answer = Callable[[Asked], tuple[int, Any]]


class TinyServer(ThreadingHTTPServer):
    """Responds from a table of (method, path) and records the requests."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.table: dict[tuple[str, str], Answer] = {}
        # What answers requests that the table does not have.
        self.otherwise: Answer | None = None
        self.asked: list[Asked] = []
        self.connections = 0
        self.hang_ups = threading.Semaphore(0)

    def shutdown_request(self, request: Any) -> None:
        """Close the connection and signal it once per connection, so that a test can wait for it."""
        super().shutdown_request(request)
        self.hang_ups.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close the connection, as several tests do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answers(self, method: str, path: str, body: Any = None, *, status: int = 200) -> None:
        self.table[method, path] = lambda _: (status, body)

    def does(self, method: str, path: str, answer: Answer) -> None:
        self.table[method, path] = answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TinyServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's own name)
        """Log nothing, to keep the test output clean."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(self.command, unquote(parts.path), query, dict(self.headers.items()), body)
        self.server.asked.append(asked)
        missing: tuple[int, Any] = (404, {"error": {"code": "not_found", "message": f"There is no {asked.path} here."}})
        answer_for = self.server.table.get((asked.method, asked.path), self.server.otherwise)
        status, answer = answer_for(asked) if answer_for else missing
        self.send_response(status)
        if isinstance(answer, Frames):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in answer.pieces:
                self.wfile.write(piece)
                self.wfile.flush()
            self.close_connection = True
            return
        if isinstance(answer, HangUp):
            answer, self.close_connection = answer.body, True
        text = answer.text if isinstance(answer, Raw) else b"" if answer is None else json.dumps(answer).encode()
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  (the library's own names)


@contextmanager
def tiny_server() -> Iterator[TinyServer]:
    """Run a tiny server during a test."""
    server = TinyServer()
    worker = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    worker.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        worker.join(timeout=5)
