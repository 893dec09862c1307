"""The fixtures of these tests: two lanes that talk."""

from collections.abc import AsyncIterator

import pytest

from tests.exchanges.talks import Talk, open_talk


@pytest.fixture
async def talk(store_url: str) -> AsyncIterator[Talk]:
    """Two lanes that talk, on SQLite and again on PostgreSQL."""
    async with open_talk(store_url) as opened:
        yield opened


@pytest.fixture
async def sqlite_talk(sqlite_url: str) -> AsyncIterator[Talk]:
    """Two lanes that talk, on SQLite."""
    async with open_talk(sqlite_url) as opened:
        yield opened
