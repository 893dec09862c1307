"""Followers of the feed: every event once, whatever dies, and one process at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from carrel.journal import Event, Follower, FollowerDuty, append_event, events_behind
from carrel.journal.model import About
from carrel.kernel import Access
from carrel.kernel.limits import FOLLOWER_LEASE_SECONDS
from carrel.storage import FEED, Database, Tx, open_database
from tests.harness.engine import Engine, FakeClock, open_engine, until_found, within
from tests.harness.watched_database import WatchedDatabase


class Counting(Follower[str]):
    """Writes down every event it was given, twice where it was given twice."""

    name = "counting"

    def __init__(self, before: Callable[[], None] | None = None) -> None:
        self.prepared = 0
        self.preparing = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self._before = before

    async def prepare(self, access: Access, events: list[Event]) -> str:
        self.prepared += 1
        self.preparing.set()
        await self.gate.wait()
        return f"{len(events)} events"

    def apply(self, tx: Tx, access: Access, events: list[Event], prepared: str) -> None:
        assert prepared == f"{len(events)} events"
        for event in events:
            tx.run(
                "INSERT INTO counted (account_id, seq, name) VALUES (:account, :seq, :name)",
                account=access.account_id, seq=event.seq, name=event.name,
            )  # fmt: skip
        if self._before is not None:
            self._before()


@pytest.fixture
async def counting(engine: Engine) -> Engine:
    await engine.db.write(lambda tx: tx.run("CREATE TABLE counted (account_id TEXT, seq BIGINT, name TEXT)"))
    return engine


async def tell(engine: Engine, *names: str, access: Access | None = None) -> None:
    """Write events, each in a transaction of its own."""
    for name in names:
        await engine.db.write(lambda tx, name=name: append_event(tx, access or engine.access, name, About(), "{}"))  # type: ignore[misc]


async def counted(db: Database, access: Access) -> list[str]:
    rows = await db.read(
        lambda tx: tx.all(
            "SELECT name FROM counted WHERE account_id = :account AND name LIKE 'told.%' ORDER BY seq",
            account=access.account_id,
        )
    )
    return [row[0] for row in rows]


async def until_counted(engine: Engine, wanted: list[str], access: Access | None = None) -> None:
    """Wait, bounded, until exactly these events were written down."""
    await until_found(lambda: counted(engine.db, access or engine.access), lambda names: names == wanted)


@asynccontextmanager
async def following(db: Database, follower: Counting, worker: str = "one") -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(FollowerDuty(db, follower, worker).serve())
        yield
        serving.cancel()


async def test_every_event_is_applied_once_across_restarts(counting: Engine) -> None:
    await tell(counting, "told.1", "told.2")
    async with following(counting.db, Counting()):
        await until_counted(counting, ["told.1", "told.2"])
    await tell(counting, "told.3")
    async with following(counting.db, Counting(), worker="two"):
        await tell(counting, "told.4")
        await until_counted(counting, ["told.1", "told.2", "told.3", "told.4"])


async def test_effects_that_fail_leave_the_cursor_where_it_was(counting: Engine) -> None:
    failed, works = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def fail_at_first() -> None:
        if not works.is_set():
            loop.call_soon_threadsafe(failed.set)
            raise RuntimeError("not yet")

    await tell(counting, "told.1")
    async with following(counting.db, Counting(before=fail_at_first)):
        await within(failed.wait())
        assert await counted(counting.db, counting.access) == []
        works.set()
        counting.advance(FOLLOWER_LEASE_SECONDS + 1)
        counting.db.bell(FEED).ring()
        await until_counted(counting, ["told.1"])


async def test_each_account_has_a_cursor_of_its_own(counting: Engine) -> None:
    other = await counting.another_account("other")
    await tell(counting, "told.mine")
    async with following(counting.db, Counting()):
        await until_counted(counting, ["told.mine"])
        await tell(counting, "told.theirs", access=other)
        await until_counted(counting, ["told.theirs"], other)
        assert await counted(counting.db, counting.access) == ["told.mine"]


async def test_another_process_takes_over_when_a_lease_has_run_out_and_the_first_writes_nothing_more(
    postgres_url: str,
) -> None:
    clock = FakeClock()
    async with open_engine(postgres_url, clock=clock) as engine:
        await engine.db.write(lambda tx: tx.run("CREATE TABLE counted (account_id TEXT, seq BIGINT, name TEXT)"))
        beside = WatchedDatabase(open_database(postgres_url, durability="normal", clock=clock))
        slow, quick = Counting(), Counting()
        slow.gate.clear()
        try:
            await tell(engine, "told.1")
            async with following(engine.db, slow, worker="slow"):
                await within(slow.preparing.wait())
                async with following(beside, quick, worker="quick"):
                    assert quick.prepared == 0
                    clock.advance(FOLLOWER_LEASE_SECONDS + 1)
                    beside.bell(FEED).ring()
                    await until_counted(engine, ["told.1"])
                    slow.gate.set()
                    await tell(engine, "told.2")
                    await until_counted(engine, ["told.1", "told.2"])
        finally:
            await beside.close()


async def test_the_lag_says_how_many_events_are_left(counting: Engine) -> None:
    async with following(counting.db, Counting()):
        await tell(counting, "told.1")
        await until_counted(counting, ["told.1"])
    await tell(counting, "told.2", "told.3")
    behind = await counting.db.read(lambda tx: events_behind(tx, counting.access))
    assert behind == {"counting": 2}


async def test_a_long_backlog_is_counted_up_to_a_limit(counting: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.journal.follower_store.WAITING_COUNTED_MAX", 2)
    async with following(counting.db, Counting()):
        await tell(counting, "told.1")
        await until_counted(counting, ["told.1"])
    first = counting.clock.now_ms()
    await tell(counting, "told.2")
    counting.advance(5)
    await tell(counting, "told.3", "told.4")
    assert await counting.db.read(lambda tx: Counting.lag(tx, counting.access)) == (2, first)
