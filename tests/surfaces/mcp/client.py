"""MCP clients: the official one with both versions of the handshake, and requests by hand."""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer

Json = dict[str, Any]
Headers = Mapping[str, str]
ERAS = ("legacy", "2026-07-28")
HANDSHAKES = ("2025-03-26", "2025-06-18", "2025-11-25")


@contextlib.asynccontextmanager
async def connected(server: HttpServer, mode: str, token: str = "", session: str = "") -> AsyncIterator[Client]:
    """The official client, connected with a token and, if named, at a session."""
    headers = {"Authorization": f"Bearer {token or server.owner}"}
    if session:
        headers["x-openclaw-session-key"] = session
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS_MAX) as http,
        Client(
            streamable_http_client(f"{server.url}/mcp", http_client=http),
            mode=mode,
            read_timeout_seconds=SECONDS_MAX,
        ) as client,
    ):
        yield client


async def ask(
    client: httpx.AsyncClient, method: str, params: Json | None = None, headers: Headers | None = None
) -> httpx.Response:
    """One request by hand, in the way of the handshake era, answered without a stream."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return await client.post("/mcp", json=body, headers={"Accept": "application/json", **(headers or {})})


async def result_of(
    client: httpx.AsyncClient, method: str, params: Json | None = None, headers: Headers | None = None
) -> Json:
    """What a request that is granted gives."""
    answer = await ask(client, method, params, headers)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()["result"]
    return result


async def call(
    client: httpx.AsyncClient, tool: str, arguments: Json | None = None, headers: Headers | None = None
) -> Json:
    """What a call of a tool gives, refused or not."""
    return await result_of(client, "tools/call", {"name": tool, "arguments": arguments or {}}, headers)


def code_of(refused: CallToolResult) -> str:
    """The code of a refusal that the official client was given, which has no structured content."""
    assert refused.is_error
    assert refused.structured_content is None
    (block,) = refused.content
    assert isinstance(block, TextContent)
    return str(json.loads(block.text)["error"]["code"])


def text_of(result: Json) -> Json:
    """The text of a result, which is JSON."""
    (block,) = result["content"]
    told: Json = json.loads(block["text"])
    return told
