"""Riders: work that joins every transaction which rings a bell, kept alike by both engines."""

import asyncio
import threading

import pytest

from carrel.runs.model import RUNS
from carrel.storage import CommitCallback, Database, Tx
from tests.harness.engine import SECONDS_MAX, accounts_of, within
from tests.storage.test_database import Wrong, insert, insert_and_break, insert_and_wake


class Hook:
    """Inserts an account of its own, and remembers what it was told."""

    def __init__(self, *, silences: bool = False) -> None:
        self.calls = 0
        self.told: list[bool] = []
        self.threads: list[threading.Thread] = []
        self._silences = silences

    def __call__(self, tx: Tx) -> CommitCallback:
        self.calls += 1
        insert(tx, f"hook{self.calls}")
        if self._silences:
            del tx.woken[RUNS]
        return self._landed

    def _landed(self, committed: bool) -> None:
        self.told.append(committed)
        self.threads.append(threading.current_thread())


async def test_a_commit_hook_writes_in_the_transaction_that_rang_its_bell(db: Database) -> None:
    hook = Hook()
    db.before_commit(RUNS, hook)
    await db.write(insert_and_wake)
    assert sorted(await accounts_of(db)) == ["hook1", "woke"]
    assert hook.told == [True]
    assert hook.threads == [threading.current_thread()]


async def test_a_commit_hook_is_not_asked_where_nothing_rang(db: Database) -> None:
    hook = Hook()
    db.before_commit(RUNS, hook)
    await db.write(lambda tx: insert(tx, "quiet"))
    assert (hook.calls, hook.told) == (0, [])


async def test_nothing_a_commit_hook_wrote_stays_when_the_work_is_undone(db: Database) -> None:
    hook = Hook()
    db.before_commit(RUNS, hook)
    with pytest.raises(Wrong):
        await db.write(lambda tx: insert_and_break(tx, "broken"))
    assert await accounts_of(db) == []
    assert True not in hook.told


async def test_a_commit_hook_may_leave_nothing_to_wake_for(db: Database) -> None:
    db.before_commit(RUNS, Hook(silences=True))
    before = db.bell(RUNS).version
    await db.write(insert_and_wake)
    assert db.bell(RUNS).version == before


async def test_a_caller_that_goes_away_does_not_take_the_news_with_it(db: Database) -> None:
    hook, held, go_on = Hook(), threading.Event(), threading.Event()
    db.before_commit(RUNS, hook)

    def slow(tx: Tx) -> None:
        held.set()
        go_on.wait(SECONDS_MAX)
        insert_and_wake(tx)

    bell = db.bell(RUNS)
    before = bell.version
    caller = asyncio.ensure_future(db.write(slow))
    await within(asyncio.to_thread(held.wait, SECONDS_MAX))
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    go_on.set()
    await bell.wait(before, SECONDS_MAX)
    assert hook.told == [True]
