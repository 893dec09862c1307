"""Requests to the application without a socket: what a server would be sent, at a fraction of the time."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

SECONDS_MAX = 20.0
Json = dict[str, Any]
_BOUNDARY = "between-two-parts"


class Answer(NamedTuple):
    """A status and a body."""

    status: int
    text: str

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.text)


class Client:
    """Somebody who sends requests with one token."""

    def __init__(self, app: ASGIApp, token: str, **headers: str) -> None:
        self.app = app
        self.token = token
        self.headers = {"authorization": f"Bearer {token}", "host": "127.0.0.1", **headers}

    async def get(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        """Read something."""
        return await self.request("GET", path, query)

    async def post(self, path: str, body: Json, **headers: str) -> Answer:
        """Write something."""
        return await self.request("POST", path, None, body, headers)

    async def request(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:  # fmt: skip
        """Send a request and return the whole answer."""
        if body is None:
            return await self._send(method, path, query, b"", None, headers or {})
        return await self._send(method, path, query, json.dumps(body).encode(), "application/json", headers or {})

    async def upload(self, path: str, name: str, text: str) -> Answer:
        """Send a text as a file."""
        about = f'Content-Disposition: form-data; name="file"; filename="{name}"'
        body = f"--{_BOUNDARY}\r\n{about}\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--{_BOUNDARY}--\r\n"
        return await self._send("POST", path, None, body.encode(), f"multipart/form-data; boundary={_BOUNDARY}", {})

    async def stream(self, path: str, query: Mapping[str, Any], until: str) -> Answer:
        """Read a stream up to a frame that holds a word, then hang up."""
        exchange = _Exchange(b"", until=until.encode())
        scope = self._scope("GET", path, query, {})
        async with asyncio.timeout(SECONDS_MAX):
            await self.app(scope, exchange.receive, exchange.send)
        return exchange.answer()

    async def _send(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: bytes, kind: str | None,
        headers: Mapping[str, str],
    ) -> Answer:  # fmt: skip
        exchange = _Exchange(body, until=None)
        named = {} if kind is None else {"content-type": kind}
        async with asyncio.timeout(SECONDS_MAX):
            await self.app(self._scope(method, path, query, {**named, **headers}), exchange.receive, exchange.send)
        return exchange.answer()

    def _scope(
        self, method: str, path: str, query: Mapping[str, Any] | None, more: Mapping[str, str]
    ) -> dict[str, Any]:  # fmt: skip
        headers = {**self.headers, **more}
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
            "method": method, "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": urlencode(query or {}).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip

    async def socket(self, path: str) -> "Socket":
        """Open a WebSocket."""
        scope = self._scope("GET", path, None, {})
        for name in ("method", "raw_path"):
            del scope[name]
        socket = Socket(scope | {"type": "websocket", "scheme": "ws", "subprotocols": [f"bearer.{self.token}"]})
        await socket.open(self.app)
        return socket


class _Exchange:
    """Both directions of one request."""

    def __init__(self, body: bytes, until: bytes | None) -> None:
        self._body: bytes | None = body
        self._until = until
        self._status = 0
        self._pieces: list[bytes] = []
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        piece = message.get("body", b"")
        self._pieces.append(piece)
        if not message.get("more_body") or (self._until is not None and self._until in piece):
            self._gone.set()

    def answer(self) -> Answer:
        return Answer(self._status, b"".join(self._pieces).decode("utf-8", "replace"))


class Socket:
    """A WebSocket whose frames are kept as they arrive."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self._scope = scope
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._accepted = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self.frames: list[str] = []

    async def open(self, app: ASGIApp) -> None:
        """Connect, and return when the server has accepted or refused."""
        self._inbox.put_nowait({"type": "websocket.connect"})
        self._serving = asyncio.ensure_future(app(self._scope, self._inbox.get, self._send))
        async with asyncio.timeout(SECONDS_MAX):
            await self._accepted.wait()

    async def _send(self, message: Message) -> None:
        self._accepted.set()
        if message["type"] == "websocket.send":
            self.frames.append(message.get("text") or (message.get("bytes") or b"").decode())

    def say(self, frame: Json) -> None:
        """Send a frame."""
        self._inbox.put_nowait({"type": "websocket.receive", "text": json.dumps(frame)})

    async def close(self) -> None:
        """Hang up and wait for the server to notice."""
        self._inbox.put_nowait({"type": "websocket.disconnect", "code": 1000})
        assert self._serving is not None
        async with asyncio.timeout(SECONDS_MAX):
            await self._serving
