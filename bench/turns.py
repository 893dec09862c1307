"""Turns: whole turns of the built-in agent over HTTP, from POST to the end of the wait, beside bare requests."""

import asyncio
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvloop

from bench.engine import CLIENTS, by_clients, open_bench, rate
from bench.figures import Bar, Figure, at_least, at_most, compared, plain, tell
from bench.stores import POSTGRES, SQLITE, on_postgres
from carrel.kernel import elapsed_seconds
from tests.harness.process import RunningServer, clean_environment

NAME = "turns"
REPEATS = 5
TURNS = 320
READS = 1_600
LONE = 100
WAIT_SECONDS = 60
# What is shown to a turn besides its message: nothing, or what the settings say by default.
CONTEXTS = {"without context": "false", "with the default context": "true"}
# Of turns, to reading one run over HTTP, by store and context.
BARS = {
    (SQLITE, "without context"): at_least(0.1),
    (SQLITE, "with the default context"): at_least(0.08),
    (POSTGRES, "without context"): at_least(0.07),
    (POSTGRES, "with the default context"): at_least(0.06),
}
# Below this a commit says nothing about a disk, and a turn is the processor's time alone.
_COMMIT_MS_MIN = 1.0
_LONE_MAX = at_most(4)


def measure(durability: str, stores: tuple[str, ...] = (SQLITE, POSTGRES)) -> list[Figure]:
    """Turns a second by 32 clients, each waiting for its answer, on each store; and how long a lone one takes."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-turns-") as name:
        folder, figures = Path(name), list[Figure]()
        if SQLITE in stores:
            figures += _measured(SQLITE, folder, durability)
        if POSTGRES in stores:
            figures += on_postgres(
                NAME, durability, lambda server: _measured(POSTGRES, folder, durability, server.create_database)
            )
    return figures


def _measured(
    store: str, folder: Path, durability: str, new_url: Callable[[], str] | None = None
) -> list[Figure]:  # fmt: skip
    """The figures of one store. Servers with and without context are started one after the other."""
    figures = []
    for context, augment in CONTEXTS.items():
        own = folder / store / augment
        own.mkdir(parents=True)
        url = {} if new_url is None else {"CARREL_STORAGE__URL": new_url()}
        settings = {"CARREL_STORAGE__DURABILITY": durability, "CARREL_LOG__LEVEL": "warning", **url}
        server = RunningServer(own, clean_environment(own, CARREL_CONTEXT__AUGMENT=augment, **settings))
        try:
            tell(f"turns: {REPEATS} times {TURNS} turns {context} on {store}")
            pairs = [uvloop.run(_pair(server, at)) for at in range(REPEATS)]
            figures.append(_compared(f"turns over HTTP {context} on {store}", pairs, BARS[store, context]))
            if new_url is None and augment == "false":
                figures.append(uvloop.run(_lone(server, own, durability)))
        finally:
            server.close()
    return figures


def _compared(name: str, pairs: list[tuple[float, float]], bar: Bar) -> Figure:
    return compared(NAME, name, "turns/s", pairs, yardstick="reading a run over HTTP by 32 clients", bar=bar)


async def _pair(server: RunningServer, at: int) -> tuple[float, float]:
    """Turns a second, and reads of one run a second."""
    lanes = [f"agent:main:web:bench-{at}-{lane % (2 * CLIENTS):02}" for lane in range(TURNS)]
    last = ""

    async def take(connection: "Connection", lane: str) -> None:
        nonlocal last
        last = await _turn(connection, lane)

    async def read(connection: "Connection", _: str) -> None:
        await connection.ask("GET", f"/api/runs/{last}")

    turns = await _by_connections(server, lanes, take)
    return turns, await _by_connections(server, ["read"] * READS, read)


async def _by_connections(
    server: RunningServer, items: list[str], work: Callable[["Connection", str], Awaitable[None]]
) -> float:
    """How many a second: every client has a connection of its own, and goes on when it was answered."""
    idle: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CLIENTS):
        idle.put_nowait(await Connection.open(server))

    async def take(item: str) -> None:
        connection = await idle.get()
        await work(connection, item)
        idle.put_nowait(connection)

    async with asyncio.timeout(WAIT_SECONDS * 2):
        return await rate(len(items), lambda: by_clients(items, take))


async def _turn(connection: "Connection", key: str) -> str:
    """Say something in a session and wait for the answer; the id of the run."""
    body = {"sessionKey": key, "message": "What is the time of the meeting?"}
    run_id = str((await connection.ask("POST", "/api/runs", body))["runId"])
    ended = await connection.ask("GET", f"/api/runs/{run_id}/wait?timeoutSeconds={WAIT_SECONDS}")
    assert ended["status"] == "ok", ended
    return run_id


async def _lone(server: RunningServer, folder: Path, durability: str) -> Figure:
    """How long one chat line takes on an idle server, from POST to its answer, beside a bare commit."""
    name, connection = "a lone chat line without context, p95", await Connection.open(server)
    turns = await _p95_ms(lambda: _turn(connection, "agent:main:web:bench-lone"))
    async with open_bench(folder / "bare", durability) as made:
        commits = await _p95_ms(made.insert)
    if commits < _COMMIT_MS_MIN:
        note = f"no bar where a commit takes {commits:.2g} ms: that is no disk"
        return plain(NAME, name, "ms", turns, note=note)
    return compared(NAME, name, "ms", [(turns, commits)], yardstick="one bare commit, p95", bar=_LONE_MAX)


async def _p95_ms(work: Callable[[], Awaitable[object]]) -> float:
    took = []
    for _ in range(LONE):
        begun = elapsed_seconds()
        await work()
        took.append((elapsed_seconds() - begun) * 1_000)
    return statistics.quantiles(took, n=20)[18]


class Connection:
    """One kept connection that asks and reads JSON: a whole HTTP client would cost more than the server it measures."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self._reader = reader
        self._writer = writer
        self._token = token

    @classmethod
    async def open(cls, server: RunningServer) -> "Connection":
        """Connect to a server as its owner."""
        url = urlsplit(server.url)
        return cls(*await asyncio.open_connection(url.hostname, url.port), server.token)

    async def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send one request and read its answer, which must be a good one."""
        content = b"" if body is None else msgspec.json.encode(body)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode() + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        read = await self._reader.readexactly(length)
        assert answer.startswith("http/1.1 20"), read
        return dict(msgspec.json.decode(read))
