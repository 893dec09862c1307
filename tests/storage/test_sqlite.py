"""The embedded store: one file, its references, and a disk that is full."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import pytest

from carrel.kernel import Code, Refusal
from carrel.storage import Tx, open_database, sqlite_path
from carrel.storage.sqlite import SqliteDatabase
from tests.harness.engine import MAIN, lane_key, open_engine, opened
from tests.requirements.mark import requirement
from tests.storage.test_database import inserting
from tests.storage.test_maintenance import run_script


@contextmanager
def no_file_larger_than(size_bytes: int) -> Iterator[None]:
    """Let every write beyond that size fail, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_on_a_full_disk_nobody_is_told_that_something_was_kept(empty_sqlite_url: str) -> None:
    path = sqlite_path(empty_sqlite_url)
    assert path is not None
    async with open_engine(empty_sqlite_url) as engine:
        await engine.say(MAIN, "before")
        size = path.with_name("carrel.db-wal").stat().st_size
        with no_file_larger_than(size + 50_000):
            results = await asyncio.gather(
                *(engine.say(lane_key(f"l{n}"), "x" * 20_000) for n in range(10)), return_exceptions=True
            )
            refused = [result for result in results if isinstance(result, Refusal)]
            assert len(refused) == 10
            assert {refusal.code for refusal in refused} == {Code.STORAGE_UNAVAILABLE}
            assert (await engine.db.read(lambda tx: tx.one("SELECT count(*) FROM runs"))) == (1,)
        after = await engine.say(MAIN, "after")
        assert [run.text for run in await engine.live(MAIN)] == ["before", "after"]
        assert (await engine.run(after.id)).state == "queued"
    assert run_script(empty_sqlite_url, "PRAGMA integrity_check") == [("ok",)]


@requirement("S1.store.wal")
async def test_the_embedded_store_is_one_file_in_wal_mode(empty_sqlite_url: str) -> None:
    async with open_engine(empty_sqlite_url) as engine:
        mode = await engine.db.read(lambda tx: tx.one("PRAGMA journal_mode"))
        assert mode == ("wal",)
        path = sqlite_path(empty_sqlite_url)
        assert path is not None
        assert {file.name for file in path.parent.iterdir()} <= {"carrel.db", "carrel.db-wal", "carrel.db-shm"}


async def test_while_the_server_is_busy_changes_of_a_few_rounds_of_the_loop_share_one_commit(
    empty_sqlite_url: str,
) -> None:
    db = open_database(empty_sqlite_url)
    assert isinstance(db, SqliteDatabase)
    await asyncio.gather(db.write(inserting("first")), db.write(inserting("second")))
    commits = count_commits(db)

    async def write_after(rounds: int) -> None:
        for _ in range(rounds):
            # A read lets the writer's thread run, if it has anything to do.
            await db.read(lambda tx: tx.all("SELECT id FROM accounts"))
            await asyncio.sleep(0)
        assert await db.write(inserting(f"after-{rounds}")) == 1

    await asyncio.gather(*map(write_after, range(5)))
    assert len(commits) == 1
    await db.write(inserting("alone"))
    assert len(commits) == 2
    await db.close()


def count_commits(db: SqliteDatabase) -> list[int]:
    """Return a list to which every commit from now on adds an item."""
    commits: list[int] = []

    def count() -> bool:
        commits.append(1)
        return False

    db._writing.set_commit_hook(count)
    return commits


async def test_foreign_keys_hold_on_every_connection(empty_sqlite_url: str) -> None:
    def orphan(tx: Tx) -> None:
        tx.run("INSERT INTO feed_marks (account_id, pruned_seq) VALUES ('acc_nobody', 1)")

    async with opened(empty_sqlite_url) as db:
        with pytest.raises(apsw.ConstraintError):
            await db.write(orphan)
