"""Fixtures of the turns' tests: a server whose agents reach the scripted gateway."""

from collections.abc import AsyncIterator

import pytest

from tests.harness.server import Server, gateways_to, open_server
from tests.scripted_gateway import ScriptedGateway


@pytest.fixture
async def server(anyio_backend: str, sqlite_url: str, gateway: ScriptedGateway) -> AsyncIterator[Server]:
    """A server on SQLite."""
    async with open_server(sqlite_url, gateways_to(gateway)) as opened:
        yield opened


@pytest.fixture
async def either_server(anyio_backend: str, store_url: str, gateway: ScriptedGateway) -> AsyncIterator[Server]:
    """A server on SQLite, and the same test again on PostgreSQL."""
    async with open_server(store_url, gateways_to(gateway)) as opened:
        yield opened
