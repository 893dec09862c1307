"""Fixtures of Open Responses: programs with tokens of their own, and the owner on either store."""

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
    async with house.client(await house.token(client, kind="client", agentIds=["main"], name="alice")) as caller:
        yield caller


@pytest.fixture
async def bob(house: OpenHouse, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Another program that may speak to agent main."""
    async with house.client(await house.token(client, kind="client", agentIds=["main"], name="bob")) as caller:
        yield caller
