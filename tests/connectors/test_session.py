"""Servers over streamable HTTP: reached with the headers of the settings, and bounded like programs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from carrel.kernel.limits import MCP_MESSAGE_BYTES_MAX, MCP_RESTART_SECONDS_MAX
from carrel.kernel.settings import McpServerSettings
from tests.connectors.test_connectors import call, connected, failure, offered
from tests.harness.elapsing import Elapsing
from tests.requirements.mark import requirement

KEY = "key-of-the-server-0123456789"
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("look", "huge", "echo")]


class HttpServer:
    """Answers MCP requests with JSON; `keys` are the keys that came with them."""

    def __init__(self) -> None:
        self.port = 0
        self.keys: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.keys.add(headers.get("x-key", ""))
                writer.write(self._answered(head, body))
                await writer.drain()
        writer.close()

    def _answered(self, head: str, body: bytes) -> bytes:
        if not head.startswith("POST"):
            return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
        message = json.loads(body)
        if "id" not in message:
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"]} | self._result(message)).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            len(answer),
            answer,
        )

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "plain", "version": "1"}
                return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
            case "tools/list":
                return {"result": {"tools": TOOLS}}
            case "tools/call":
                name = message["params"]["name"]
                said = {"huge": "z" * MCP_MESSAGE_BYTES_MAX, "echo": KEY}.get(name, "seen")
                return {"result": {"content": [{"type": "text", "text": said}]}}
        return {"error": {"code": -32601, "message": "no such method"}}


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[HttpServer]:
    server = HttpServer()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as sockets:
        server.port = sockets.sockets[0].getsockname()[1]
        yield server


@requirement("P.mcp.start", "P.mcp.secrets")
async def test_a_server_over_http_gets_the_headers_and_its_results_do_not_show_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    async with listening() as server:
        settings = McpServerSettings(url=server.url, headers={"X-Key": "SERVER_KEY"})
        async with connected(plain=settings) as connectors:
            assert set(await offered(connectors)) == {"look", "huge", "echo"}
            assert await call(connectors, "look") == {"text": "seen"}
            assert await call(connectors, "echo") == {"text": "[redacted]"}
            assert connectors.states("default")[0].kind == "url"
        assert server.keys == {KEY}


@requirement("P.mcp.flood")
async def test_a_response_without_an_end_is_cut_off_and_a_later_call_works(elapsing: Elapsing) -> None:
    async with listening() as server, connected(plain=McpServerSettings(url=server.url)) as connectors:
        failed = await failure(connectors, "huge")
        assert failed.is_unknown
        assert "The response is larger than" in failed.message
        elapsing.advance(MCP_RESTART_SECONDS_MAX)
        assert await call(connectors, "look") == {"text": "seen"}


@requirement("P.mcp.restart")
async def test_nobody_at_the_address_is_said() -> None:
    async with connected(plain=McpServerSettings(url="http://127.0.0.1:9/mcp")) as connectors:
        assert await offered(connectors) == {}
        state = connectors.states("default")[0]
        assert state.status == "failed"
        assert "connect" in (state.last_error or "").lower()
