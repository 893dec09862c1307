"""Long reads: off the loop, on one moment of the store, within a deadline."""

import asyncio
import threading

import pytest

from carrel.kernel import Code, Refusal
from carrel.storage import LongTx, Tx
from tests.harness.engine import SECONDS_MAX, Engine, lane_key, open_engine, within

pytestmark = pytest.mark.anyio
# Counts for longer than any test waits; both engines know it.
ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def runs(tx: Tx) -> int:
    row = tx.one("SELECT count(*) FROM runs")
    assert row is not None
    return int(row[0])


async def test_a_long_read_runs_outside_the_loop_and_others_write_meanwhile(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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


async def test_a_read_that_takes_too_long_is_refused_and_the_next_one_works(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        with pytest.raises(Refusal) as refused:
            await engine.db.long_read(lambda tx: tx.one(ENDLESS), seconds_max=0.2)
        assert refused.value.code is Code.STORAGE_UNAVAILABLE
        assert "0.2 s" in refused.value.message
        assert await all_threads_read(engine) == [0] * 8


async def test_a_read_whose_caller_has_gone_stops(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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


async def test_work_between_two_statements_ends_at_its_next_statement(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        gone, ended, found = threading.Event(), asyncio.Event(), []
        loop = asyncio.get_running_loop()

        def works(tx: LongTx) -> None:
            try:
                found.append(runs(tx))
                assert gone.wait(SECONDS_MAX)
                found.append(runs(tx))
            finally:
                loop.call_soon_threadsafe(ended.set)

        with pytest.raises(Refusal):
            await engine.db.long_read(works, seconds_max=0.1)
        gone.set()
        await within(ended.wait())
        assert found == [0]


@pytest.mark.parametrize("urgent", [True, False])
async def test_reads_that_can_wait_and_urgent_ones_do_not_wait_for_each_other(store_url: str, urgent: bool) -> None:
    async with open_engine(store_url) as engine:
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
