"""A server with webhooks of every kind, and its owner."""

from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.kernel.settings import Settings
from tests.harness.server import HttpServer, open_http_server
from tests.inbound.posts import SECRET_VARIABLE, WEBHOOKS
from tests.inbound.senders import SECRET


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """The secret with which everything is signed, where the settings say that it is."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    return SECRET


@pytest.fixture
async def hooked(store_url: str, secret: str) -> AsyncIterator[HttpServer]:
    """A server with webhooks, on SQLite and again on PostgreSQL; it starts no runs."""
    async with open_http_server(store_url, settings=Settings(webhooks=WEBHOOKS), works=False) as opened:
        yield opened


@pytest.fixture
async def owner(hooked: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of the account that most webhooks belong to."""
    async with hooked.client() as client:
        yield client
