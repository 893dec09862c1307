"""Plain servers for tests: their settings, and a gate that hears of every call and lets it go on."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from carrel.kernel.settings import McpServerSettings

PROGRAM = Path(__file__).with_name("plain_server.py")


def plain(manner: str = "honest", *args: str, **more: Any) -> McpServerSettings:
    """Return the settings of a plain server of that manner."""
    return McpServerSettings(command=sys.executable, args=("-S", str(PROGRAM), manner, *args), **more)


class CallGate:
    """Hears of calls in servers; each goes on once `open` is called for it."""

    def __init__(self) -> None:
        self.port = 0
        self.calls: list[tuple[str, dict[str, Any]]] = []
        # The program of the newest call, and its children.
        self.pids: list[int] = []
        self._arrived = asyncio.Queue[asyncio.StreamWriter]()

    async def arrived(self) -> asyncio.StreamWriter:
        """Wait until a call has reached a server; return what `let_go` takes."""
        return await self._arrived.get()

    async def let_go(self, call: asyncio.StreamWriter) -> None:
        """Let a call go on."""
        call.write(b"go on\n")
        await call.drain()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear one server."""
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                name, arguments, self.pids = json.loads(line)
                self.calls.append((name, arguments))
                self._arrived.put_nowait(writer)
        writer.close()


@contextlib.asynccontextmanager
async def open_gate() -> AsyncIterator[CallGate]:
    """Open a gate on a free port."""
    gate = CallGate()
    async with await asyncio.start_server(gate.serve, "127.0.0.1", 0) as listening:
        gate.port = listening.sockets[0].getsockname()[1]
        yield gate
