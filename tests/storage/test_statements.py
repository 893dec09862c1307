"""What is sent together on PostgreSQL: what is not waited for, what is read ahead, and what comes of mistakes."""

import psycopg
import pytest

from carrel.storage import Database, Row, Tx
from carrel.storage.postgres import connect
from carrel.storage.statements import Statements
from tests.harness.engine import opened

_PUT = "INSERT INTO followers (account_id, name, cursor, worker, updated_at) VALUES (:account_id, :name, 1, '', 0)"
_NAMES = "SELECT name FROM followers ORDER BY name"
_ACCOUNT = "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES ('a', 'a', 'a', '{}', 0)"


def put(tx: Tx, name: str, account_id: str = "a") -> None:
    tx.pipeline(_PUT, account_id=account_id, name=name)


async def names(db: Database) -> list[str]:
    return [name for (name,) in await db.read(lambda tx: tx.all(_NAMES))]


async def test_what_is_not_waited_for_is_done_before_the_next_statement(db: Database) -> None:
    def work(tx: Tx) -> list[Row]:
        put(tx, "one")
        return tx.all(_NAMES)

    await db.write(lambda tx: tx.run(_ACCOUNT))
    assert await db.write(work) == [("one",)]
    await db.write(lambda tx: put(tx, "two"))
    assert await names(db) == ["one", "two"]


async def test_what_is_not_waited_for_undoes_the_whole_when_it_fails(postgres_url: str) -> None:
    def work(tx: Tx) -> None:
        put(tx, "one")
        put(tx, "two", account_id="nobody")

    async with opened(postgres_url) as db:
        await db.write(lambda tx: tx.run(_ACCOUNT))
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            await db.write(work)
        assert await names(db) == []
        await db.write(lambda tx: put(tx, "three"))
        assert await names(db) == ["three"]


async def test_a_part_that_fails_takes_with_it_what_it_did_not_wait_for(db: Database) -> None:
    def part(tx: Tx) -> None:
        put(tx, "inside")
        raise ValueError("no")

    def work(tx: Tx) -> None:
        put(tx, "before")
        with pytest.raises(ValueError, match="no"):
            tx.attempt(lambda: part(tx))
        put(tx, "after")

    await db.write(lambda tx: tx.run(_ACCOUNT))
    await db.write(work)
    assert await names(db) == ["after", "before"]


async def test_what_was_read_ahead_is_read_again_once_something_was_written(db: Database) -> None:
    def work(tx: Tx) -> tuple[int, int]:
        tx.prefetch(lambda: tx.all(_NAMES), lambda: tx.one("SELECT 1"))
        put(tx, "one")
        read = len(tx.all(_NAMES))
        tx.prefetch(lambda: tx.all(_NAMES))
        tx.run("DELETE FROM followers")
        return read, len(tx.all(_NAMES))

    await db.write(lambda tx: tx.run(_ACCOUNT))
    assert await db.write(work) == (1, 0)


async def test_what_is_read_ahead_is_answered_once(postgres_url: str) -> None:
    async with opened(postgres_url) as db:

        def work(tx: Tx) -> tuple[object, object]:
            draw = "SELECT nextval('ticks') AS drawn"
            tx.prefetch(lambda: tx.one(draw))
            return tx.one(draw), tx.one(draw)

        first, second = await db.read(work)
        assert first != second


async def test_what_was_read_ahead_is_not_read_ahead_again(postgres_url: str) -> None:
    async with opened(postgres_url) as db:

        def work(tx: Tx) -> list[int]:
            draw = "SELECT nextval('ticks') AS drawn"
            for _ in range(2):
                tx.prefetch(lambda: tx.value(draw), tx.tick)
            return [int(tx.value(draw) or 0), tx.tick(), int(tx.value(draw) or 0)]

        first, *then = await db.read(work)
        assert then == [first + 1, first + 2]


async def test_a_number_that_was_drawn_ahead_is_used_once_and_not_after_forgetting(postgres_url: str) -> None:
    async with opened(postgres_url) as db:

        def work(tx: Tx) -> tuple[list[int], list[int]]:
            tx.prefetch(tx.tick, lambda: tx.all(_NAMES), tx.tick)
            row = tx.one("SELECT last_value FROM ticks")
            assert row is not None
            put(tx, "one")
            used = [tx.tick(), tx.tick(), tx.tick()]
            tx.prefetch(tx.tick)
            tx.invalidate()
            return [row[0] - 1, row[0], row[0] + 1, row[0] + 3], [*used, tx.tick()]

        await db.write(lambda tx: tx.run(_ACCOUNT))
        expected, used = await db.write(work)
        assert used == expected


async def test_a_statement_that_comes_again_is_prepared_and_gives_the_same(postgres_url: str) -> None:
    with connect(postgres_url, "full") as connection:
        statements = Statements(connection)
        for _ in range(3):
            asked = statements.execute("SELECT :one, :two, :three", {"one": 1, "two": "b", "three": b"\x00c"})
            assert statements.rows(asked) == [(1, "b", b"\x00c")]
        prepared = connection.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'c%'").fetchone()
        assert prepared == (1,)


async def test_more_than_a_socket_takes_is_sent_together(postgres_url: str) -> None:
    long = "x" * 3_000_000
    with connect(postgres_url, "full") as connection:
        statements = Statements(connection)
        for _ in range(4):
            statements.add("SELECT :text", {"text": long})
        answers = statements.execute_added()
        assert [statements.rows(answer) for answer in answers] == [[(long,)]] * 4
