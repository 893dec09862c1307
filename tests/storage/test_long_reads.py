"""Long reads: off the loop, on one moment of the store, within a deadline."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import ExitStack, asynccontextmanager

import pytest

from carrel.kernel import Code, Refusal
from carrel.storage import LongTx, Tx
from carrel.storage.long_reads import Deadline, LongReads
from tests.harness.elapsing import Elapsing
from tests.harness.engine import SECONDS_MAX, Engine, lane_key, within

# Counts for longer than any test waits; both engines know it.
ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def runs(tx: Tx) -> int:
    row = tx.one("SELECT count(*) FROM runs")
    assert row is not None
    return int(row[0])


async def refused(read: Awaitable[object]) -> None:
    """Wait until a read is refused."""
    with pytest.raises(Refusal):
        await read


async def test_a_long_read_runs_outside_the_loop_and_others_write_meanwhile(engine: Engine) -> None:
    began, go_on, threads = threading.Event(), threading.Event(), set()

    def slow(tx: LongTx) -> tuple[int, int]:
        threads.add(threading.get_ident())
        first = runs(tx)
        began.set()
        assert go_on.wait(SECONDS_MAX)
        return first, runs(tx)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(engine.db.long_read(slow))
        await asyncio.to_thread(began.wait, SECONDS_MAX)
        await engine.say(lane_key("beside"), "hello")
        assert await engine.db.read(runs) == 1
        go_on.set()
    # Both looks were at the same moment, before the message came.
    assert reading.result() == (0, 0)
    assert threads.isdisjoint({threading.get_ident()})
    assert await engine.db.long_read(runs) == 1


async def test_a_read_that_takes_too_long_is_refused_and_the_next_one_works(engine: Engine) -> None:
    with pytest.raises(Refusal) as refused:
        await engine.db.long_read(lambda tx: tx.one(ENDLESS), seconds_max=0.2)
    assert refused.value.code is Code.STORAGE_UNAVAILABLE
    assert "0.2 s" in refused.value.message
    assert await all_threads_read(engine) == [0] * 8


async def test_a_read_whose_caller_has_gone_stops(engine: Engine) -> None:
    stopped, began = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def endless(tx: LongTx) -> object:
        loop.call_soon_threadsafe(began.set)
        try:
            return tx.one(ENDLESS)
        finally:
            loop.call_soon_threadsafe(stopped.set)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(engine.db.long_read(endless))
        await within(began.wait())
        reading.cancel()
    await within(stopped.wait())
    assert await all_threads_read(engine) == [0] * 8


@asynccontextmanager
async def one_reader() -> AsyncIterator[LongReads[ExitStack]]:
    """Long reads on a single connection."""
    reads: LongReads[ExitStack] = LongReads(ExitStack, threads=1)
    try:
        yield reads
    finally:
        await asyncio.to_thread(reads.close)


async def test_a_cancellation_that_is_ahead_of_its_statement_is_repeated() -> None:
    began, loop = asyncio.Event(), asyncio.get_running_loop()
    cancelled, attempts = threading.Event(), list[str]()

    def cancel() -> None:
        # The first one arrives before the statement does and ends nothing.
        attempts.append("too early" if not attempts else "in time")
        if attempts[-1] == "in time":
            cancelled.set()

    def read(_connection: ExitStack, deadline: Deadline) -> str:
        with deadline.cancelled_by(cancel):
            loop.call_soon_threadsafe(began.set)
            assert cancelled.wait(SECONDS_MAX)
        return "ended"

    async with one_reader() as reads, asyncio.TaskGroup() as group:
        reading = group.create_task(reads.run(read, SECONDS_MAX))
        await within(began.wait())
        reading.cancel()
    assert attempts == ["too early", "in time"]


async def test_a_late_cancellation_does_not_end_the_next_read_on_the_connection() -> None:
    began, loop = asyncio.Event(), asyncio.get_running_loop()
    finished, steps = threading.Event(), list[str]()

    def cancel() -> None:
        steps.append("cancelling")
        finished.set()
        for _ in range(1_000):
            # A reader that did not wait would go on now.
            time.sleep(0)
        steps.append("cancelled")

    def read(_connection: ExitStack, deadline: Deadline) -> str:
        with deadline.cancelled_by(cancel):
            if not steps:
                loop.call_soon_threadsafe(began.set)
                assert finished.wait(SECONDS_MAX)
        steps.append("ended")
        return "ended"

    async with one_reader() as reads:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(reads.run(read, SECONDS_MAX))
            await within(began.wait())
            reading.cancel()
        assert await reads.run(read, SECONDS_MAX) == "ended"
    assert steps == ["cancelling", "cancelled", "ended", "ended"]


async def test_work_between_two_statements_ends_at_its_next_statement(engine: Engine, elapsing: Elapsing) -> None:
    gone, began, ended, found = threading.Event(), asyncio.Event(), asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def works(tx: LongTx) -> None:
        try:
            found.append(runs(tx))
            loop.call_soon_threadsafe(began.set)
            assert gone.wait(SECONDS_MAX)
            found.append(runs(tx))
        finally:
            loop.call_soon_threadsafe(ended.set)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(refused(engine.db.long_read(works, seconds_max=SECONDS_MAX)))
        await within(began.wait())
        elapsing.advance(SECONDS_MAX)
        await reading
    gone.set()
    await within(ended.wait())
    assert found == [0]


@pytest.mark.parametrize("urgent", [True, False])
async def test_reads_that_can_wait_and_urgent_ones_do_not_wait_for_each_other(engine: Engine, urgent: bool) -> None:
    free, began, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

    def hold(_: LongTx) -> bool:
        loop.call_soon_threadsafe(began.set)
        return free.wait(SECONDS_MAX)

    async with asyncio.TaskGroup() as group:
        holding = [group.create_task(engine.db.long_read(hold, urgent=not urgent)) for _ in range(8)]
        await within(began.wait())
        assert await within(engine.db.long_read(runs, urgent=urgent)) == 0
        free.set()
        assert all(await within(asyncio.gather(*holding)))


async def all_threads_read(engine: Engine) -> list[int]:
    """What twice as many reads at once as there are threads find: no connection is left in a bad state."""
    return list(await within(asyncio.gather(*(engine.db.long_read(runs) for _ in range(8)))))
