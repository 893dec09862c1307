"""Fixtures of A2A: the owner as a caller on either store, and programs with tokens of their own."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.surfaces.open_house import OpenHouse


@pytest.fixture
async def on_either(house_on_either: OpenHouse) -> AsyncIterator[httpx.AsyncClient]:
    """The owner, on SQLite and on PostgreSQL."""
    async with house_on_either.client() as owner:
        yield owner


@pytest.fixture
async def alice(house: OpenHouse, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A program that may speak to agent main."""
    token = await house.token(client, kind="client", agentIds=["main"], name="alice")
    async with house.client(token) as caller:
        yield caller


@pytest.fixture
async def bob(house: OpenHouse, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Another program that may speak to agent main."""
    token = await house.token(client, kind="client", agentIds=["main"], name="bob")
    async with house.client(token) as caller:
        yield caller
