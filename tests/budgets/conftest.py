"""The fixture of these tests: a server with limits."""

from collections.abc import AsyncIterator

import pytest

from tests.budgets.limited import Limited, limited_server
from tests.scripted_gateway import ScriptedGateway


@pytest.fixture
async def limited(store_url: str, gateway: ScriptedGateway) -> AsyncIterator[Limited]:
    """A server that runs up to eight turns at once, on SQLite and again on PostgreSQL."""
    async with limited_server(store_url, gateway) as opened:
        yield opened
