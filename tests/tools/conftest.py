"""The fixtures of these tests: agents that work on tasks, and lanes that talk."""

from collections.abc import AsyncIterator

import pytest

from carrel.sessions import session_by_id
from tests.exchanges.conftest import sqlite_talk, talk
from tests.harness.server import open_server
from tests.tools.task_world import TaskWorld, open_world
from tests.tools.turn_caller import TurnCaller, caller_of

__all__ = ["sqlite_talk", "talk", "turn", "world"]


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[TaskWorld]:
    """Agents that work on tasks, on SQLite and again on PostgreSQL."""
    async with open_world(store_url) as opened:
        yield opened


@pytest.fixture
async def turn(store_url: str) -> AsyncIterator[TurnCaller]:
    """A caller during a turn, on SQLite and again on PostgreSQL."""
    async with open_server(store_url) as server:
        run = await server.ask("hello", "task:task_1")
        session = await server.read(lambda tx: session_by_id(tx, server.access, run.session_id or ""))
        assert session is not None
        yield TurnCaller(server, run, await server.read(lambda tx: caller_of(tx, server, run, session)))
