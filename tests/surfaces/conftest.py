"""Fixtures of the surfaces: a listening server, on SQLite or on both databases, and clients with various tokens."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.harness.server import HttpServer, open_http_server


@pytest.fixture
async def server(sqlite_url: str) -> AsyncIterator[HttpServer]:
    """A server on SQLite."""
    async with open_http_server(sqlite_url) as opened:
        yield opened


@pytest.fixture
async def either_server(store_url: str) -> AsyncIterator[HttpServer]:
    """A server on SQLite, and the same test again on PostgreSQL."""
    async with open_http_server(store_url) as opened:
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
