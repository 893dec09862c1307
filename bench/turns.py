"""Turns: a whole turn of the built-in agent over HTTP, from POST to the end of the wait, beside bare commits."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvloop

from bench.engine import CLIENTS, by_clients, open_bench, rate
from bench.figures import Figure, compared, tell
from tests.harness.process import RunningServer, clean_environment

NAME = "turns"
REPEATS = 3
TURNS = 400
COMMITS = 4_000
WAIT_SECONDS = 60


def measure(durability: str) -> list[Figure]:
    """Turns a second by 32 clients, each waiting for its answer; no bar, for the model decides in real life."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-turns-") as name:
        folder = Path(name)
        environment = clean_environment(folder, CARREL_STORAGE__DURABILITY=durability, CARREL_LOG__LEVEL="warning")
        server = RunningServer(folder, environment)
        try:
            pairs = []
            for at in range(REPEATS):
                tell(f"turns: {TURNS} turns and {COMMITS} bare commits, {at + 1} of {REPEATS}")
                commits = uvloop.run(_commits(folder / f"bare-{at}", durability))
                pairs.append((uvloop.run(_turns(server, at)), commits))
        finally:
            server.close()
    return [compared(NAME, "turns over HTTP", "turns/s", pairs, yardstick="one row a commit by 32 clients")]


async def _commits(folder: Path, durability: str) -> float:
    async with open_bench(folder, durability) as made:
        return await rate(COMMITS, lambda: by_clients([None] * COMMITS, made.insert))


async def _turns(server: RunningServer, at: int) -> float:
    """Turns a second: every client has a connection of its own and says the next thing when it was answered."""
    idle: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CLIENTS):
        idle.put_nowait(await Connection.open(server))

    async def take(lane: str) -> None:
        connection = await idle.get()
        body = {"sessionKey": f"agent:main:web:{lane}", "message": "What is the time of the meeting?"}
        run_id = (await connection.ask("POST", "/api/runs", body))["runId"]
        ended = await connection.ask("GET", f"/api/runs/{run_id}/wait?timeoutSeconds={WAIT_SECONDS}")
        assert ended["status"] == "ok", ended
        idle.put_nowait(connection)

    lanes = [f"bench-{at}-{lane % (2 * CLIENTS):02}" for lane in range(TURNS)]
    async with asyncio.timeout(WAIT_SECONDS * 2):
        return await rate(TURNS, lambda: by_clients(lanes, take))


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
