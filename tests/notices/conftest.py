"""The fixture of these tests: a desk on SQLite, and again on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from tests.work.desk import Desk, open_desk


@pytest.fixture
async def desk(store_url: str) -> AsyncIterator[Desk]:
    async with open_desk(store_url) as opened:
        yield opened
