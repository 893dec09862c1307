"""The fixture of these tests: a planner on SQLite, and again on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from tests.goals.planner import Planner, open_planner


@pytest.fixture
async def planner(store_url: str) -> AsyncIterator[Planner]:
    async with open_planner(store_url) as opened:
        yield opened
