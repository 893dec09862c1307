"""The contract of a transaction, kept alike by both engines."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from carrel.kernel import Code, Refusal, system_access
from carrel.runs.model import RUNS
from carrel.storage import FEED, Database, Tx, open_database
from tests.harness.engine import SECONDS_MAX, accounts_of, within
from tests.requirements.mark import requirement


class Wrong(Exception):
    """An error of the work itself."""


def insert(tx: Tx, slug: str) -> int:
    return tx.run(
        "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES (:id, :slug, :slug, '{}', :now)",
        id=f"acc_{slug}",
        slug=slug,
        now=tx.now,
    )


def inserting(slug: str) -> Callable[[Tx], int]:
    return lambda tx: insert(tx, slug)


def insert_and_wake(tx: Tx) -> None:
    insert(tx, "woke")
    tx.wake(RUNS)


def insert_and_tick(tx: Tx) -> int:
    number = tx.tick()
    insert(tx, f"t{number}")
    return number


def insert_and_break(tx: Tx, slug: str) -> None:
    insert(tx, slug)
    tx.wake(RUNS)
    raise Wrong(slug)


async def test_what_was_written_is_there_for_every_later_read(db: Database) -> None:
    assert await db.write(lambda tx: insert(tx, "a")) == 1
    assert await accounts_of(db) == ["a"]


async def test_what_was_written_is_there_when_the_store_is_opened_again(store_url: str) -> None:
    first = open_database(store_url)
    await first.write(lambda tx: insert(tx, "a"))
    await first.close()
    second = open_database(store_url)
    assert await accounts_of(second) == ["a"]
    await second.close()


async def test_work_that_raises_leaves_nothing_and_its_own_error_is_raised(db: Database) -> None:
    with pytest.raises(Wrong):
        await db.write(lambda tx: insert_and_break(tx, "a"))
    assert await accounts_of(db) == []


async def test_one_broken_unit_of_work_leaves_those_beside_it_whole(db: Database) -> None:
    async def attempt(n: int) -> object:
        slug = f"s{n:02}"
        broken = n % 3 == 0
        return await db.write(lambda tx: insert_and_break(tx, slug) if broken else insert(tx, slug))

    results = await asyncio.gather(*(attempt(n) for n in range(30)), return_exceptions=True)
    for n, result in enumerate(results):
        assert isinstance(result, Wrong) if n % 3 == 0 else result == 1
    assert sorted(await accounts_of(db)) == [f"s{n:02}" for n in range(30) if n % 3]


async def test_a_refusal_inside_a_group_reaches_only_its_own_caller(db: Database) -> None:
    def refuse(tx: Tx) -> None:
        insert(tx, "refused")
        raise Refusal(Code.CONFLICT, "no")

    refused, written = await asyncio.gather(
        db.write(refuse), db.write(lambda tx: insert(tx, "kept")), return_exceptions=True
    )
    assert isinstance(refused, Refusal)
    assert refused.code == Code.CONFLICT
    assert written == 1
    assert await accounts_of(db) == ["kept"]


async def test_a_row_that_breaks_a_constraint_is_an_error_and_the_store_works_on(db: Database) -> None:
    await db.write(lambda tx: insert(tx, "a"))
    with pytest.raises(Exception, match=r"(?i)unique"):
        await db.write(lambda tx: insert(tx, "a"))
    await db.write(lambda tx: insert(tx, "b"))
    assert sorted(await accounts_of(db)) == ["a", "b"]


async def test_a_bell_rings_after_the_commit_and_only_for_what_was_woken(db: Database) -> None:
    heard: list[list[str]] = []

    async def listen() -> None:
        await db.bell(RUNS).wait(0, SECONDS_MAX)
        heard.append(await accounts_of(db))

    def work(tx: Tx) -> None:
        insert(tx, "a")
        tx.wake(RUNS)

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        await db.write(work)
    assert heard == [["a"]]
    assert db.bell(FEED).version == 0


async def test_a_transaction_that_woke_nobody_or_was_undone_rings_no_bell_for_work(db: Database) -> None:
    await db.write(lambda tx: insert(tx, "quiet"))
    results = await asyncio.gather(
        *(db.write(lambda tx: insert_and_break(tx, "broken")) for _ in range(4)),
        *(db.write(inserting(f"kept{n}")) for n in range(4)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Wrong) for result in results) == 4
    assert db.bell(RUNS).version == 0


async def test_many_readers_of_one_bell_are_woken_by_one_ring(db: Database) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(within(db.bell(RUNS).wait(0, SECONDS_MAX)))
        await asyncio.sleep(0)
        await db.write(insert_and_wake)
    assert db.bell(RUNS).version == 1


async def test_numbers_grow_over_commits_and_reopening(store_url: str) -> None:
    seen: list[int] = []
    for _ in range(3):
        opened = open_database(store_url)
        for _ in range(3):
            seen += [await opened.write(insert_and_tick)]
        await opened.close()
    assert seen == sorted(set(seen))


@requirement("S1.store.wal")
async def test_a_reader_is_not_blocked_by_a_writer_and_sees_what_was_committed(db: Database) -> None:
    await db.write(lambda tx: insert(tx, "before"))
    inside, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        insert(tx, "during")
        inside.set()
        assert go_on.wait(SECONDS_MAX)

    async with asyncio.TaskGroup() as group:
        writing = group.create_task(db.write(slow))
        assert await asyncio.to_thread(inside.wait, SECONDS_MAX)
        assert await within(accounts_of(db)) == ["before"]
        assert not writing.done()
        go_on.set()
    assert sorted(await accounts_of(db)) == ["before", "during"]


async def test_a_closed_store_refuses_to_write_and_loses_nothing_accepted(store_url: str) -> None:
    opened = open_database(store_url)
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(opened.write(inserting(f"w{n}"))) for n in range(40)]
        await asyncio.sleep(0)
        await opened.close()
    assert all(write.result() == 1 for write in writes)
    with pytest.raises(Refusal) as caught:
        await opened.write(lambda tx: insert(tx, "late"))
    assert caught.value.code == Code.STORAGE_UNAVAILABLE
    again = open_database(store_url)
    assert len(await accounts_of(again)) == 40
    await again.close()


@pytest.mark.parametrize(("durability", "synchronous", "commits"), [("full", 2, "on"), ("normal", 1, "off")])
async def test_durability_is_what_the_setting_says(
    store_url: str, durability: str, synchronous: int, commits: str
) -> None:
    opened = open_database(store_url, durability=durability)
    statement = "PRAGMA synchronous" if opened.engine == "sqlite" else "SHOW synchronous_commit"
    row = await opened.write(lambda tx: tx.one(statement))
    assert row == ((synchronous,) if opened.engine == "sqlite" else (commits,))
    await opened.close()


async def test_an_address_of_no_known_engine_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        open_database("mysql://somewhere")
    assert caught.value.code == Code.STORAGE_UNAVAILABLE


async def test_an_access_binds_the_account_in_every_kind_of_statement(db: Database) -> None:
    mine, count = system_access("acc_mine"), "SELECT count(*) FROM accounts WHERE id = :account AND name = :name"

    def work(tx: Tx) -> list[object]:
        insert(tx, "mine")
        insert(tx, "theirs")
        tx.defer("UPDATE accounts SET name = :name WHERE id = :account", mine, name="later")
        renamed = tx.run("UPDATE accounts SET name = :name WHERE id = :account", mine, name="now")
        return [renamed, tx.one(count, mine, name="now"), tx.all(count, mine, name="later")]

    assert await db.write(work) == [1, (1,), [(0,)]]
    assert await db.read(lambda tx: tx.one(count, mine, name="later")) == (1,)
    assert await db.read(lambda tx: tx.one(count, account="acc_theirs", name="theirs")) == (1,)
