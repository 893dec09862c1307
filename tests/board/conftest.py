"""The fixture of these tests: an empty board."""

from collections.abc import AsyncIterator

import pytest

from tests.board.places import Board, open_board


@pytest.fixture
async def board(store_url: str) -> AsyncIterator[Board]:
    """An empty board, on SQLite and again on PostgreSQL."""
    async with open_board(store_url) as opened:
        yield opened
