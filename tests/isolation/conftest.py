"""The fixture of these tests: two accounts with the same people."""

from collections.abc import AsyncIterator

import pytest

from tests.isolation.world import World, open_world


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    """Two accounts with the same people, in which nothing was said yet."""
    async with open_world(1, store_url) as opened:
        yield opened
