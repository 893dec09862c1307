"""The fixture of these tests: a board that contexts are built of."""

from collections.abc import AsyncIterator

import pytest

from tests.context.whiteboard import Whiteboard, open_whiteboard


@pytest.fixture
async def board(store_url: str) -> AsyncIterator[Whiteboard]:
    """An empty board, on SQLite and again on PostgreSQL."""
    async with open_whiteboard(store_url) as opened:
        yield opened


@pytest.fixture
async def small_board(sqlite_url: str) -> AsyncIterator[Whiteboard]:
    """An empty board, on SQLite alone."""
    async with open_whiteboard(sqlite_url) as opened:
        yield opened
