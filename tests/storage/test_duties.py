"""Duties: items are done once, within bounds, whatever breaks; kept alike by both engines."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.storage import Database, Duty, LeasedDuty, Tx, repeat
from tests.harness.engine import SECONDS_MAX
from tests.harness.wrapped_database import WrappedDatabase

T = TypeVar("T")
BELL = "chores"
LEASE_MS = 60_000
TABLE = "CREATE TABLE chores (id TEXT PRIMARY KEY, due_at BIGINT, done BIGINT, leased BIGINT)"
DUE = "SELECT id FROM chores WHERE done = 0 AND leased <= :now AND due_at <= :now ORDER BY due_at, id LIMIT :limit"
LEASE = f"UPDATE chores SET leased = :until WHERE id IN ({DUE}) AND leased <= :now RETURNING id"
NEXT = "SELECT min(CASE WHEN leased > due_at THEN leased ELSE due_at END) FROM chores WHERE done = 0"


def next_due(tx: Tx) -> int | None:
    """Return when the next chore is due or its lease ends."""
    row = tx.one(NEXT)
    return None if row is None or row[0] is None else int(row[0])


class Chores(Duty[str]):
    """Does what the table of chores holds; `broken` names those that fail."""

    name = "chores"
    bell = BELL
    items_max = 2

    def __init__(self, db: Database, finished: asyncio.Queue[str] | None = None) -> None:
        super().__init__(db)
        self.finished = finished or asyncio.Queue()
        self.broken: set[str] = set()

    def next_due(self, tx: Tx) -> int | None:
        return next_due(tx)

    def take(self, tx: Tx, limit: int) -> list[str]:
        return [row[0] for row in tx.all(DUE, now=tx.now, limit=limit)]

    async def do(self, item: str) -> None:
        if item in self.broken:
            raise ValueError(item)
        if await self.db.write(lambda tx: tx.run("UPDATE chores SET done = 1 WHERE id = :id AND done = 0", id=item)):
            self.finished.put_nowait(item)


class LeasedChores(LeasedDuty[str]):
    """Does the same by leases; each item is held until the test opens its gate."""

    name = "chores"
    bell = BELL
    items_max = 2

    def __init__(self, db: Database, started: asyncio.Queue[str] | None = None) -> None:
        super().__init__(db)
        self.started = started or asyncio.Queue()
        self.finished: asyncio.Queue[str] = asyncio.Queue()
        self.gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.broken: set[str] = set()

    def next_due(self, tx: Tx) -> int | None:
        return next_due(tx)

    def take(self, tx: Tx, limit: int) -> list[str]:
        return sorted(row[0] for row in tx.all(LEASE, now=tx.now, until=tx.now + LEASE_MS, limit=limit))

    def release(self, tx: Tx) -> int:
        return tx.run("UPDATE chores SET leased = 0 WHERE done = 0")

    async def do(self, item: str) -> None:
        self.started.put_nowait(item)
        if item in self.broken:
            raise ValueError(item)
        await self.gates[item].wait()
        await self.db.write(lambda tx: tx.run("UPDATE chores SET done = 1 WHERE id = :id", id=item))
        self.finished.put_nowait(item)


class AwayDatabase(WrappedDatabase):
    """A store that cannot be reached until it is back."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.away = True
        self.asked = asyncio.Event()

    async def read(self, work: Callable[[Tx], T]) -> T:
        self.asked.set()
        if self.away:
            raise Refusal(Code.STORAGE_UNAVAILABLE, "The database is away.")
        return await super().read(work)


class ScriptedDatabase(WrappedDatabase):
    """A store whose writes find so much each, or fail where that is negative."""

    def __init__(self, db: Database, *found: int) -> None:
        super().__init__(db)
        self.found = list(found)
        self.exhausted = asyncio.Event()

    async def write(self, work: Callable[[Tx], T]) -> T:
        if not self.found:
            self.exhausted.set()
            await asyncio.Event().wait()
        left = self.found.pop(0)
        if left < 0:
            raise ValueError("no luck")
        await super().write(work)
        return left  # type: ignore[return-value]


@pytest.fixture
async def store(db: Database) -> Database:
    """A store with an empty table of chores."""
    await db.write(lambda tx: tx.run(TABLE))
    return db


async def add(db: Database, *ids: str, in_ms: int = 0, leased_for_ms: int = 0) -> None:
    """Add chores that become due so much later, leased by another server for so long."""

    def work(tx: Tx) -> None:
        due_at, leased = tx.now + in_ms, tx.now + leased_for_ms
        rows: list[dict[str, object]] = [{"id": one, "due_at": due_at, "leased": leased} for one in ids]
        tx.run_many("INSERT INTO chores VALUES (:id, :due_at, 0, :leased)", rows)
        tx.wake(BELL)

    await db.write(work)


async def next_of(queue: asyncio.Queue[str], count: int) -> list[str]:
    """Return the next items of a queue, sorted."""
    return sorted([await queue.get() for _ in range(count)])


@asynccontextmanager
async def serving(*duties: Callable[[], Coroutine[None, None, None]]) -> AsyncIterator[None]:
    """Run the duties until the block ends; the block is bounded."""
    async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as group:
        tasks = [group.create_task(serve()) for serve in duties]
        yield
        for task in tasks:
            task.cancel()


async def test_every_item_is_done_once_though_two_servers_look(store: Database) -> None:
    finished: asyncio.Queue[str] = asyncio.Queue()
    async with serving(Chores(store, finished).serve, Chores(store, finished).serve):
        await add(store, "a", "b", "c", "d", "e")
        assert await next_of(finished, 5) == ["a", "b", "c", "d", "e"]
    assert finished.empty()


async def test_a_round_takes_a_few_and_says_when_to_look_again(store: Database) -> None:
    duty = Chores(store)
    assert await duty.round() == SAFETY_POLL_SECONDS, "nothing is known to become due"
    await add(store, "a", "b", "c")
    await add(store, "later", in_ms=SAFETY_POLL_SECONDS * 500)
    assert await duty.round() == 0, "there may be more"
    assert await next_of(duty.finished, duty.finished.qsize()) == ["a", "b"]
    assert await duty.round() == 0
    assert 0 < await duty.round() <= SAFETY_POLL_SECONDS / 2
    assert await next_of(duty.finished, duty.finished.qsize()) == ["c"]


async def test_a_broken_item_stops_no_other_and_is_tried_again_after_a_pause(
    store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    duty = Chores(store)
    duty.broken = {"a"}
    await add(store, "a", "b")
    assert await duty.round() == SAFETY_POLL_SECONDS
    assert await duty.finished.get() == "b"
    assert [record.message for record in caplog.records] == ["chores_broke_off"]
    duty.broken.clear()
    assert await duty.round() == 0
    assert await duty.finished.get() == "a"


async def test_a_duty_goes_on_when_the_store_is_back(store: Database, caplog: pytest.LogCaptureFixture) -> None:
    await add(store, "a")
    away = AwayDatabase(store)
    duty = Chores(away)
    async with serving(duty.serve):
        await away.asked.wait()
        away.away = False
        store.bell(BELL).ring()
        assert await duty.finished.get() == "a"
    assert "chores_unread" in [record.message for record in caplog.records]


async def test_leased_items_are_done_in_the_background_and_only_so_many_at_a_time(store: Database) -> None:
    duty = LeasedChores(store)
    async with serving(duty.serve):
        await add(store, "a", "b", "c", "d")
        assert await next_of(duty.started, 2) == ["a", "b"]
        assert (duty.busy, duty.started.empty()) == (["a", "b"], True)
        duty.gates["b"].set()
        assert await duty.started.get() == "c", "a slow item takes up its own slot and no other"
        assert duty.busy == ["a", "c"]
        for name in "acd":
            duty.gates[name].set()
        assert await next_of(duty.finished, 4) == ["a", "b", "c", "d"]


async def test_two_servers_never_hold_the_same_lease(store: Database) -> None:
    started: asyncio.Queue[str] = asyncio.Queue()
    first, second = LeasedChores(store, started), LeasedChores(store, started)
    async with serving(first.serve, second.serve):
        await add(store, "a", "b", "c")
        assert await next_of(started, 3) == ["a", "b", "c"]
        assert sorted(first.busy + second.busy) == ["a", "b", "c"]


async def test_a_broken_leased_item_frees_its_slot_and_stays_leased(
    store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    duty = LeasedChores(store)
    duty.broken = {"a", "b"}
    duty.gates["c"].set()
    async with serving(duty.serve):
        await add(store, "a", "b", "c")
        assert await duty.finished.get() == "c"
    assert await next_of(duty.started, duty.started.qsize()) == ["a", "b", "c"], "none was tried twice"
    assert [record.message for record in caplog.records] == ["chores_broke_off"] * 2


async def test_the_only_server_of_a_store_frees_the_leases_of_the_one_before(store: Database) -> None:
    await add(store, "left", leased_for_ms=LEASE_MS)
    duty = LeasedChores(store)
    async with serving(duty.serve):
        # On PostgreSQL another server may still be at work on it, so only what is free is taken.
        await add(store, "free", in_ms=-1)
        only_server = store.engine == "sqlite"
        assert await next_of(duty.started, 2 if only_server else 1) == (["free", "left"] if only_server else ["free"])


async def test_repeated_work_goes_on_while_it_finds_something_and_survives_a_failure(
    store: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted, pauses, pause = ScriptedDatabase(store, 2, 1, 0, -1, 0), [], asyncio.sleep

    async def short_pause(seconds: float) -> None:
        pauses.append((seconds, list(scripted.found)))
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", short_pause)
    async with serving(lambda: repeat(scripted, "sweep", 60, lambda _tx: 0)):
        await scripted.exhausted.wait()
    assert pauses == [(60, [2, 1, 0, -1, 0]), (60, [-1, 0]), (60, [0]), (60, [])]
    assert [(record.message, record.__dict__["duty"]) for record in caplog.records] == [("duty_failed", "sweep")]
