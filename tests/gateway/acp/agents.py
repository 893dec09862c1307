"""Scripted coding agents for tests: their settings, and an ear that hears what reaches them."""

import asyncio
import contextlib
import json
import os
import select
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from carrel.kernel.settings import GatewaySettings, Settings, StorageSettings
from tests.harness.engine import SECONDS_MAX
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
        # Who said something last, by what it was.
        self._by: dict[str, asyncio.StreamWriter] = {}

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
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                what, said, self.pids = json.loads(line)
                self.heard.append((what, said))
                self._by[what] = writer
                async with self._news:
                    self._news.notify_all()
        writer.close()

    def let_go_of(self, what: str) -> None:
        """Let the agent go on that said this last."""
        self._by[what].write(b"go on\n")


def until_ended(pids: list[int]) -> None:
    """Wait until processes have ended, whether or not anybody has collected them; fail if one goes on."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                assert select.select([descriptor], [], [], SECONDS_MAX)[0], f"process {pid} goes on"
            finally:
                os.close(descriptor)


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
