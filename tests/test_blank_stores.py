"""A blank store has the newest schema and nothing of the tests before."""

import psycopg
import pytest

from carrel.storage import migrate
from tests.harness.blank_stores import BlankDatabases
from tests.harness.engine import MAIN, accounts_of, open_engine
from tests.postgres import PostgresServer


async def test_a_blank_store_is_migrated_and_holds_nothing(store_url: str) -> None:
    assert migrate(store_url) == []
    async with open_engine(store_url) as engine:
        assert await accounts_of(engine.db) == ["default"]


async def test_what_a_test_left_in_a_database_is_gone_for_the_next_one(postgres: PostgresServer) -> None:
    databases = BlankDatabases(postgres)
    url = databases.take()
    async with open_engine(url) as engine:
        await engine.say(MAIN, "left behind")
    left_open = psycopg.connect(url)
    left_open.execute("SELECT nextval('ticks')")
    databases.give_back(url)
    left_open.close()
    assert databases.take() == url
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (0,)
        assert connection.execute("SELECT nextval('ticks')").fetchone() == (1,)
    databases.close()
    postgres.drop_database(url)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE desk (id int)",
        "ALTER TABLE runs DROP COLUMN text",
        "DROP TABLE schema_version",
        "INSERT INTO schema_version VALUES (999)",
    ],
)
def test_a_database_whose_schema_a_test_changed_is_not_used_again(postgres: PostgresServer, change: str) -> None:
    databases = BlankDatabases(postgres)
    url = databases.take()
    with psycopg.connect(url) as connection:
        connection.execute(change.encode())
    databases.give_back(url)
    fresh = databases.take()
    assert fresh != url
    databases.close()
    postgres.drop_database(fresh)
