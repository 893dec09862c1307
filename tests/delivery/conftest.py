"""Fixtures of the turns' tests: the scripted gateway, and a floor of callers before it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.delivery.floor import Floor, open_floor, to
from tests.scripted_gateway import ScriptedGateway


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with ScriptedGateway() as running:
        yield running


@pytest.fixture
async def floor(anyio_backend: str, sqlite_url: str, gateway: ScriptedGateway) -> AsyncIterator[Floor]:
    """Desks on SQLite whose agents reach the scripted gateway."""
    async with open_floor(sqlite_url, to(gateway)) as opened:
        yield opened


@pytest.fixture
async def either_floor(anyio_backend: str, store_url: str, gateway: ScriptedGateway) -> AsyncIterator[Floor]:
    """The same once on SQLite and once on PostgreSQL."""
    async with open_floor(store_url, to(gateway)) as opened:
        yield opened
