"""The load: a server in its own process, and clients that cost almost nothing."""

import asyncio
import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 60
DRIVE_SECONDS_MAX = 300
QUIET_SECONDS = 0.25
QUIET_SECONDS_MAX = 60
_TICKS = os.sysconf("SC_CLK_TCK")


class Served:
    """A started server that has printed `ready <address>`; `token` is the one its callers use, if any."""

    def __init__(self, module: str, folder: Path, *arguments: str, path: str = "", **environment: str) -> None:
        self.folder = folder
        self._errors = (folder / "stderr.txt").open("a")
        command = [sys.executable, "-m", module, str(folder), *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CARREL_")}
        self._started = subprocess.Popen(
            command, env={**kept, **environment}, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self.url = self._address() + path
        token = folder / "owner_token"
        self.token = token.read_text().strip() if token.exists() else ""

    def _address(self) -> str:
        alarm = threading.Timer(START_SECONDS_MAX, self._started.kill)
        alarm.start()
        try:
            assert self._started.stdout is not None
            for line in self._started.stdout:
                if line.startswith("ready http"):
                    return line.split()[1]
        finally:
            alarm.cancel()
        raise OSError(f"the server did not become ready: {(self.folder / 'stderr.txt').read_text()[-2000:]}")

    def cpu_seconds(self) -> float:
        """Return the CPU time it has used so far, in all threads."""
        fields = Path(f"/proc/{self._started.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def rest(self) -> None:
        """Wait until it is idle: work after a response counts towards that response."""
        before, until = self.cpu_seconds(), time.monotonic() + QUIET_SECONDS_MAX
        while time.monotonic() < until:
            time.sleep(QUIET_SECONDS)
            now = self.cpu_seconds()
            if now - before < QUIET_SECONDS * 0.1:
                return
            before = now
        raise OSError("the server does not become idle")

    def stop(self) -> None:
        """Stop it gracefully."""
        self._started.terminate()
        self._started.wait(STOP_SECONDS_MAX)

    def close(self) -> None:
        """Kill it and release everything."""
        self._started.kill()
        self._started.wait()
        assert self._started.stdout is not None
        self._started.stdout.close()
        self._errors.close()


class Driven(Struct, frozen=True, kw_only=True):
    """The result of some requests: rates by the clock and by the server's CPU time, and latency."""

    per_second: float
    per_core_second: float
    p95_ms: float
    answer_bytes: float


class Connection:
    """One persistent connection that sends prepared bodies and reads whole responses."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str) -> None:
        self._reader = reader
        self._writer = writer
        self._head = head

    @classmethod
    async def open(cls, address: str, token: str) -> "Connection":
        """Connect to the JSON-RPC URL of a server with a token."""
        url = urlsplit(address)
        head = f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nA2A-Version: 1.0\r\n"
        head += "Content-Type: application/json\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        return cls(*await asyncio.open_connection(url.hostname, url.port), head)

    async def ask(self, body: bytes) -> bytes:
        """Send a request and return its response, which must be a result."""
        answer = await self._begin(body)
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
        read = await self._reader.readexactly(length)
        if not answer.startswith(b"http/1.1 200") or b'"result":' not in read:
            raise ValueError(f"no result: {read[:500]!r}")
        return read

    async def follow(self, body: bytes) -> AsyncIterator[dict[str, Any]]:
        """Send a request and yield the events of its stream; closes the connection at the end."""
        answer = await self._begin(body)
        if b"text/event-stream" not in answer:
            raise ValueError(f"no stream: {answer!r}")
        with contextlib.suppress(asyncio.IncompleteReadError):
            while (size := int(await self._reader.readuntil(b"\r\n"), 16)) > 0:
                frames = (await self._reader.readexactly(size + 2)).decode()
                for line in frames.splitlines():
                    if line.startswith("data:"):
                        yield msgspec.json.decode(line.removeprefix("data:"))["result"]
        self.close()

    async def _begin(self, body: bytes) -> bytes:
        """Send a request and read the head of its response."""
        self._writer.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return (await self._reader.readuntil(b"\r\n\r\n")).lower()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


async def drive(served: Served, bodies: Iterable[bytes], clients: int) -> Driven:
    """Send the requests from `clients` concurrent connections, within a time limit."""
    connections = [await Connection.open(served.url, served.token) for _ in range(clients)]
    waiting = iter(bodies)
    latencies: list[float] = []
    sizes: list[int] = []

    async def client(connection: Connection) -> None:
        for body in waiting:
            begun = time.perf_counter()
            sizes.append(len(await connection.ask(body)))
            latencies.append(time.perf_counter() - begun)

    cpu_before, begun = served.cpu_seconds(), time.perf_counter()
    async with asyncio.timeout(DRIVE_SECONDS_MAX), asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(client(connection))
    taken = time.perf_counter() - begun
    await asyncio.to_thread(served.rest)
    cpu = served.cpu_seconds() - cpu_before
    for connection in connections:
        connection.close()
    return Driven(
        per_second=len(latencies) / taken,
        per_core_second=len(latencies) / max(cpu, 1 / _TICKS),
        p95_ms=statistics.quantiles(latencies, n=20)[-1] * 1000,
        answer_bytes=statistics.mean(sizes),
    )


_number = itertools.count(1)


def call(method: str, **params: object) -> bytes:
    """Return the body of one JSON-RPC request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": next(_number), "method": method, "params": params})


def send(text: str, message_id: str, *, context_id: str = "", at_once: bool = False) -> bytes:
    """Return the body of SendMessage; `at_once` does not wait for the end."""
    message: dict[str, object] = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    if context_id:
        message["contextId"] = context_id
    return call("SendMessage", message=message, configuration={"returnImmediately": at_once})


async def asked(address: str, token: str, body: bytes) -> dict[str, Any]:
    """Return the result of one call on a connection of its own."""
    connection = await Connection.open(address, token)
    try:
        return dict(msgspec.json.decode(await connection.ask(body))["result"])
    finally:
        connection.close()
