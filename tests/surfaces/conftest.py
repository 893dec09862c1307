"""Fixtures of the surfaces: a listening server, on SQLite or on both databases, and clients with various tokens."""

from collections.abc import AsyncIterator
from zlib import crc32

import httpx
import pytest

from carrel.kernel.settings import Settings
from tests.harness.server import HttpServer, open_http_server

# One in so many tests of the surfaces runs on PostgreSQL as well; with `--store=postgres` all run there and only there.
SHARE_ON_POSTGRES = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the share by the test's name, so that it is the same everywhere."""
    chosen = crc32(metafunc.definition.nodeid.encode()) % SHARE_ON_POSTGRES == 0
    if chosen and "surface_url" in metafunc.fixturenames and metafunc.config.getoption("store") == "sqlite":
        metafunc.parametrize("surface_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def surface_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store: on SQLite, and for a share of the tests on PostgreSQL too."""
    store = getattr(request, "param", request.config.getoption("store"))
    url: str = request.getfixturevalue("sqlite_url" if store == "sqlite" else "postgres_url")
    return url


@pytest.fixture
async def server(surface_url: str, settings: Settings | None) -> AsyncIterator[HttpServer]:
    """A server on SQLite, or on PostgreSQL where the test runs there."""
    async with open_http_server(surface_url, settings=settings) as opened:
        yield opened


@pytest.fixture
async def either_server(store_url: str, settings: Settings | None) -> AsyncIterator[HttpServer]:
    """A server on SQLite, and the same test again on PostgreSQL."""
    async with open_http_server(store_url, settings=settings) as opened:
        yield opened


@pytest.fixture
async def client(server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of account `default`."""
    async with server.client() as owner:
        yield owner


@pytest.fixture
async def on_either(either_server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner, on SQLite and again on PostgreSQL."""
    async with either_server.client() as owner:
        yield owner


@pytest.fixture
async def other_client(server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of account `other`."""
    async with server.client(server.other_owner) as owner:
        yield owner


@pytest.fixture
async def nobody(server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """A caller without a token."""
    async with server.client(None) as caller:
        yield caller


@pytest.fixture
async def alice(server: HttpServer, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A program that may speak to agent main."""
    async with server.client(await server.token(client, kind="client", agentIds=["main"], name="alice")) as caller:
        yield caller


@pytest.fixture
async def bob(server: HttpServer, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Another program that may speak to agent main."""
    async with server.client(await server.token(client, kind="client", agentIds=["main"], name="bob")) as caller:
        yield caller
