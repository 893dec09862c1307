"""Fixtures of the surfaces: a house that is open, on SQLite or on both stores, and clients of two accounts."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.surfaces.open_house import OpenHouse, open_house


@pytest.fixture
async def house(sqlite_url: str) -> AsyncIterator[OpenHouse]:
    """A house on SQLite."""
    async with open_house(sqlite_url) as opened:
        yield opened


@pytest.fixture
async def house_on_either(store_url: str) -> AsyncIterator[OpenHouse]:
    """A house on SQLite, and the same test again on PostgreSQL."""
    async with open_house(store_url) as opened:
        yield opened


@pytest.fixture
async def client(house: OpenHouse) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of account `default`."""
    async with house.client() as owner:
        yield owner


@pytest.fixture
async def other_client(house: OpenHouse) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of account `other`."""
    async with house.client(house.other_owner) as owner:
        yield owner


@pytest.fixture
async def nobody(house: OpenHouse) -> AsyncIterator[httpx.AsyncClient]:
    """A caller without a token."""
    async with house.client(None) as caller:
        yield caller
