"""Fixtures of the store's tests: a store that is open, and URLs at which there is nothing yet."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from carrel.storage import Database
from tests.harness.engine import opened
from tests.postgres import PostgresServer


@pytest.fixture
async def db(store_url: str) -> AsyncIterator[Database]:
    """An open store, on SQLite and again on PostgreSQL."""
    async with opened(store_url) as database:
        yield database


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'carrel.db'}"


@pytest.fixture
def empty_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest) -> str:
    """The URL of a store that does not exist yet, on SQLite and again on PostgreSQL."""
    url: str = request.getfixturevalue(f"empty_{'sqlite' if request.param == 'sqlite' else 'postgres'}_url")
    return url
