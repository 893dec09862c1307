"""Tools: a call over MCP and over plain HTTP, beside one of a tool that does nothing on the SDK's bare server.

Ours knows who asks, finds the desk and reads the store; the yardstick does none of it.
"""

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import uvloop
from msgspec import Struct

from bench.a2a.load import DRIVE_SECONDS_MAX, Connection, Served
from bench.figures import Figure, at_most, compared, tell

NAME = "tools"
CALLS = 400
WARM_CALLS = 20
REPEATS = 5
SDK = "the SDK's bare server"
_MODERN = "2026-07-28"
_LEGACY = "2025-11-25"
_PLAIN = {"Accept": "application/json, text/event-stream"}


class Way(Struct, frozen=True, kw_only=True):
    """One way to call a tool: where, with what headers, and what is said."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Spent(Struct, frozen=True):
    """What one call cost: the server's processor time, and the caller's."""

    core_ms: float
    p50_ms: float


def measure(durability: str) -> list[Figure]:
    """Every figure of this benchmark."""
    return uvloop.run(_figures(durability))


def modern(tool: str) -> Way:
    """A call in the era without handshakes: everything is said with every request."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    }
    headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool, **_PLAIN}
    return Way(path="/mcp", headers=headers, body=_call(tool, _meta=meta))


def legacy(tool: str) -> Way:
    """A call as most clients make it today, answered without a stream."""
    headers = {"MCP-Protocol-Version": _LEGACY, "Accept": "application/json"}
    return Way(path="/mcp", headers=headers, body=_call(tool))


def plain_http(tool: str) -> Way:
    """A call over plain HTTP."""
    return Way(path=f"/agent/{tool}", headers=_PLAIN, body=b"{}")


def _call(tool: str, **more: object) -> bytes:
    params = {"name": tool, "arguments": {}, **more}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


@contextlib.contextmanager
def _served(module: str, *arguments: str, **environment: str) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="carrel-bench-tools-") as name:
        served = Served(module, Path(name), *arguments, **environment)
        try:
            yield served
        finally:
            served.close()


async def _figures(durability: str) -> list[Figure]:
    quiet = {"CARREL_STORAGE__DURABILITY": durability, "CARREL_LOG__LEVEL": "warning"}
    with _served("bench.a2a.our_server", durability, "0", **quiet) as ours, _served("bench.mcp_peer") as theirs:
        return [
            *await _pairs(ours, modern("session_status"), theirs, modern("nothing"), f"tools/call, {_MODERN}"),
            *await _pairs(ours, legacy("session_status"), theirs, legacy("nothing"), f"tools/call, {_LEGACY}"),
            *await _pairs(ours, plain_http("session_status"), theirs, modern("nothing"), "POST /agent"),
        ]


async def _pairs(ours: Served, our_way: Way, theirs: Served, their_way: Way, name: str) -> list[Figure]:
    """Both sides in turn: the figure by processor time has the bar, the caller's is for the reader."""
    tell(f"tools: {name}")
    spent = [(await _spent(ours, our_way), await _spent(theirs, their_way)) for _ in range(REPEATS)]
    cores = [(one.core_ms, other.core_ms) for one, other in spent]
    waits = [(one.p50_ms, other.p50_ms) for one, other in spent]
    return [
        compared(NAME, name, "core-ms", cores, yardstick=SDK, bar=at_most(2)),
        compared(NAME, f"{name}, p50", "ms", waits, yardstick=SDK),
    ]


async def _spent(served: Served, way: Way) -> Spent:
    """Make the calls one after another, after some that are not counted."""
    connection = await connected(served, way)
    latencies: list[float] = []
    async with asyncio.timeout(DRIVE_SECONDS_MAX):
        for _ in range(WARM_CALLS):
            await connection.ask(way.body)
        await asyncio.to_thread(served.rest)
        before = served.cpu_seconds()
        for _ in range(CALLS):
            begun = time.perf_counter()
            await connection.ask(way.body)
            latencies.append(time.perf_counter() - begun)
        await asyncio.to_thread(served.rest)
    connection.close()
    return Spent((served.cpu_seconds() - before) * 1000 / CALLS, statistics.median(latencies) * 1000)


async def connected(served: Served, way: Way) -> "ToolConnection":
    """A kept connection for one way of calling."""
    host = served.url.removeprefix("http://")
    name, _, port = host.partition(":")
    head = [f"POST {way.path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json"]
    head += [f"{header}: {value}" for header, value in way.headers.items()]
    head += [f"Authorization: Bearer {served.token}"] if served.token else []
    return ToolConnection(*await asyncio.open_connection(name, int(port)), "\r\n".join([*head, ""]))


class ToolConnection(Connection):
    """A connection whose answers are those of tools."""

    async def ask(self, body: bytes) -> bytes:
        """One call and its answer, which must be no refusal."""
        answer = await self._begin(body)
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
        read = await self._reader.readexactly(length)
        if not answer.startswith(b"http/1.1 200") or b'"error"' in read:
            raise ValueError(f"refused: {read[:500]!r}")
        return read
