"""A proxy between Carrel and a model server that keeps what passes: requests to the byte, answers as they came."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

ANSWER_SECONDS = 120.0
# Where steps go, in each dialect.
STEPS = ("/v1/responses", "/v1/chat/completions", "/v1/messages")
# What belongs to one connection only, and what the client writes itself.
HOP = ("host", "content-length", "connection", "transfer-encoding", "keep-alive")


@dataclass
class Passed:
    """One request and its answer, as far as it got."""

    path: str
    body: bytes
    status: int = 0
    pieces: list[bytes] = field(default_factory=list)
    is_whole: bool = False

    @property
    def answer(self) -> bytes:
        """All that was answered."""
        return b"".join(self.pieces)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a streamed answer."""
        lines = self.answer.decode().splitlines()
        told = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(text) for text in told if text != "[DONE]"]


class RecordingProxy:
    """Listens on a port of its own; `upstream` may change between two requests."""

    def __init__(self) -> None:
        self.upstream = ""
        self.passed: list[Passed] = []
        # Where single requests go instead, by their turn; and what is done once that many pieces of an answer passed.
        self.detours: list[str] = []
        self.after_pieces: tuple[int, Callable[[], None]] | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator["RecordingProxy"]:
        """Serve until the block ends."""
        serving = threading.Thread(target=self._server.serve_forever, name="recording-proxy", daemon=True)
        serving.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    @property
    def steps(self) -> list[Passed]:
        """What was asked of the model, oldest first."""
        return [one for one in self.passed if one.path.endswith(STEPS)]

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """Pass one request on and its answer back, piece by piece."""
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        passed = Passed(handler.path, body)
        self.passed.append(passed)
        is_step = passed.path.endswith(STEPS)
        upstream = self.detours.pop(0) if is_step and self.detours else self.upstream
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in HOP}
        handler.close_connection = True
        try:
            with httpx.stream(
                handler.command, upstream + handler.path, headers=headers, content=body, timeout=ANSWER_SECONDS
            ) as answer:
                passed.status = answer.status_code
                handler.send_response(answer.status_code)
                handler.send_header("Content-Type", answer.headers.get("content-type", ""))
                handler.send_header("Transfer-Encoding", "chunked")
                handler.end_headers()
                for piece in answer.iter_raw():
                    passed.pieces.append(piece)
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    handler.wfile.flush()
                    self._meddle(len(passed.pieces))
                handler.wfile.write(b"0\r\n\r\n")
                passed.is_whole = True
        except (httpx.HTTPError, OSError):
            # Either side has gone: the other one finds its connection closed without an ending.
            return

    def _meddle(self, pieces: int) -> None:
        if self.after_pieces is not None and pieces >= self.after_pieces[0]:
            meddle, self.after_pieces = self.after_pieces[1], None
            meddle()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.pass_on(self)

            def do_POST(self) -> None:
                proxy.pass_on(self)

            def log_message(self, *_: Any) -> None:
                """Nothing is logged."""

        return Handler
