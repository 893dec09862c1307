"""`/auto off` against a tick: whatever the order, no tick starts once the stop has returned."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from carrel.modes import AutoRun, stop_auto
from carrel.runs.claims import claim
from carrel.storage import Tx
from tests.harness.engine import LEASE_MS, SECONDS_MAX, open_engine, within
from tests.modes.auto.timeline import AutoTimeline
from tests.requirements.mark import requirement


@requirement("S3.edge.autooff")
@pytest.mark.parametrize("moment", ["before the tick", "while it waits", "while it works"])
async def test_no_tick_starts_after_the_stop_whenever_it_comes(line: AutoTimeline, moment: str) -> None:
    auto = await line.start()
    if moment != "before the tick":
        await line.settle()
    held = await line.begin() if moment == "while it works" else None
    assert await line.stop() == [auto.id]
    assert await line.engine.take(10) == []
    await line.later(600)
    assert await line.engine.take(10) == []
    states = [tick.state for tick in await line.ticks()]
    assert states == {"before the tick": [], "while it waits": ["cancelled"], "while it works": ["running"]}[moment]
    if held is not None:
        await line.engine.end(held)
        await line.settle()
    assert (await line.now(auto)).status == "stopped"


class Pair:
    """Two transactions on PostgreSQL, of which the first is held open until the second waits for it."""

    def __init__(self, line: AutoTimeline) -> None:
        self.line = line
        self.order: list[str] = []
        self._worked, self._begun, self._go = threading.Event(), threading.Event(), threading.Event()

    async def meet(self, first: Callable[[Tx], Any], second: Callable[[Tx], Any]) -> tuple[Any, Any]:
        """Do both; the second begins when the first has done its work, and the first commits while it waits."""
        db = self.line.engine.db

        def held_open(tx: Tx) -> Any:
            done = first(tx)
            self._worked.set()
            assert self._go.wait(SECONDS_MAX)
            self.order.append("first")
            return done

        def waiting(tx: Tx) -> Any:
            self._begun.set()
            done = second(tx)
            self.order.append("second")
            return done

        one = asyncio.create_task(db.write(held_open))
        await asyncio.to_thread(self._worked.wait, SECONDS_MAX)
        two = asyncio.create_task(db.write(waiting))
        await asyncio.to_thread(self._begun.wait, SECONDS_MAX)
        # The second stands at the lane's lock, which the first holds.
        await within(self._locked())
        assert not two.done()
        self._go.set()
        return await within(one), await within(two)

    async def _locked(self) -> None:
        sql = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while True:
            row = await self.line.engine.db.read(lambda tx: tx.one(sql))
            if row is not None and row[0]:
                return


def _stop(line: AutoTimeline, auto: AutoRun) -> Callable[[Tx], Any]:
    return lambda tx: stop_auto(tx, line.engine.access, auto_run_id=auto.id)


@requirement("S3.edge.autooff")
async def test_a_stop_that_meets_a_tick_in_delivery_cancels_it(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        line = AutoTimeline(engine)
        auto, pair = await line.start(), Pair(line)
        _, stopped = await pair.meet(lambda tx: line.duty.advance(tx, auto), _stop(line, auto))
        assert pair.order == ["first", "second"]
        assert stopped == [auto.id]
        assert [tick.state for tick in await line.ticks()] == ["cancelled"]
        assert (await line.now(auto)).status == "stopped"


@requirement("S3.edge.autooff")
async def test_a_tick_that_meets_a_stop_is_not_delivered(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        line = AutoTimeline(engine)
        auto, pair = await line.start(), Pair(line)
        await pair.meet(_stop(line, auto), lambda tx: line.duty.advance(tx, auto))
        assert pair.order == ["first", "second"]
        assert await line.ticks() == []
        assert (await line.now(auto)).status == "stopped"


@requirement("S3.edge.autooff")
async def test_a_stop_that_meets_the_claim_of_a_tick_asks_it_to_stop(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        line = AutoTimeline(engine)
        auto, pair = await line.start(), Pair(line)
        await line.settle()
        claimed, _ = await pair.meet(lambda tx: claim(tx, "worker-1", LEASE_MS, 1), _stop(line, auto))
        assert [held.auto_run_id for held in claimed] == [auto.id]
        (tick,) = await line.ticks()
        assert (tick.state, tick.stopping) == ("running", "stopped")
        assert (await line.now(auto)).status == "stopping"
