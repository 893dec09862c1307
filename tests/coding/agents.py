"""Scripted coding agents for tests: their settings, and an ear that hears what reaches them."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from carrel.kernel.settings import GatewaySettings, Settings, StorageSettings
from tests.harness.server import Server, open_server

PROGRAM = Path(__file__).with_name("scripted_coder.py")


def coder(*manners: str, **more: Any) -> GatewaySettings:
    """Return the settings of a scripted coding agent of those manners."""
    more = {"env": ("CODER_PORT",), **more}
    return GatewaySettings(kind="acp", command=sys.executable, args=("-S", str(PROGRAM), *manners), **more)


class Ear:
    """Hears what reaches the agents; one that holds goes on once it is let go."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.pids: list[int] = []
        self._news = asyncio.Condition()
        self._writers: list[asyncio.StreamWriter] = []

    async def until(self, what: str, count: int = 1) -> Any:
        """Wait until the agents have heard or done something so many times; return what was said the last time."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.said(what)) >= count)
            return self.said(what)[-1]

    def said(self, what: str) -> list[Any]:
        """What was said with everything of a kind so far."""
        return [said for kind, said in self.heard if kind == what]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear one agent."""
        self._writers.append(writer)
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                what, said, self.pids = json.loads(line)
                self.heard.append((what, said))
                async with self._news:
                    self._news.notify_all()
        writer.close()

    def let_go(self) -> None:
        """Let the newest agent go on that holds."""
        self._writers[-1].write(b"go on\n")


@contextlib.asynccontextmanager
async def open_ear(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ear]:
    """Open an ear, of which agents that are started from now on know."""
    ear = Ear()
    async with await asyncio.start_server(ear.serve, "127.0.0.1", 0) as listening:
        monkeypatch.setenv("CODER_PORT", str(listening.sockets[0].getsockname()[1]))
        yield ear


def settings_in(folder: Path, **more: Any) -> Settings:
    """Return settings whose workspaces are in a folder."""
    return Settings(storage=StorageSettings(data_dir=folder), **more)


@contextlib.asynccontextmanager
async def coding_server(
    url: str, folder: Path, *manners: str, settings: Mapping[str, Any] | None = None, **more: Any
) -> AsyncIterator[Server]:  # fmt: skip
    """Open a server whose agents are scripted coding agents; `more` are settings of their gateway."""
    async with open_server(url, {"default": coder(*manners, **more)}, settings_in(folder, **settings or {})) as server:
        yield server
