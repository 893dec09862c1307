"""A store that is open for the length of a test, on either engine."""

from collections.abc import AsyncIterator

import pytest

from carrel.storage import Database
from tests.harness.engine import opened


@pytest.fixture
async def db(store_url: str) -> AsyncIterator[Database]:
    """An open store."""
    async with opened(store_url) as database:
        yield database
