"""The stored count of a caller's A2A runs always equals their number."""

import random

import pytest

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import Settings
from carrel.monitoring import CallerRunFilter, count_caller_runs, newest_caller_runs
from carrel.runs import remove_lane
from carrel.runs.pruner import prune
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.harness.engine import FakeClock, open_engine
from tests.requirements.mark import requirement

EVERY_RUN = CallerRunFilter(agent_id="main")


def key_of(name: str) -> SessionKey:
    return SessionKey.of("main", f"a2a:{'0' * 12}:{name}")


def counted(tx: Tx, access: Access) -> tuple[int, int]:
    """Return the stored count and the number of runs."""
    return count_caller_runs(tx, access, EVERY_RUN), len(
        newest_caller_runs(tx, access, EVERY_RUN, before=None, limit=1_000)
    )


@requirement("S1.list.page")
async def test_the_stored_count_equals_the_number_of_runs_after_removal_and_pruning(store_url: str) -> None:
    chance = random.Random(7)
    async with open_engine(store_url, clock=FakeClock()) as engine:
        for n in range(40):
            await engine.say(key_of(f"c{chance.randrange(5)}"), f"line {n}", kind="a2a" if n % 4 else "external_user")
            for taken in await engine.take(chance.randrange(2)):
                await engine.end(taken)
        assert await engine.db.read(lambda tx: counted(tx, engine.access)) == (30, 30)
        lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, key_of("c1")))
        assert lane is not None
        await engine.db.write(lambda tx: remove_lane(tx, engine.access, lane))
        count, runs = await engine.db.read(lambda tx: counted(tx, engine.access))
        assert count == runs < 30
        engine.advance(8 * 24 * 3600)
        await engine.db.write(lambda tx: prune(tx, Settings()))
        count, left = await engine.db.read(lambda tx: counted(tx, engine.access))
        assert count == left < runs


@pytest.mark.parametrize("run_filter", [EVERY_RUN, CallerRunFilter(agent_id="main", phase="submitted")])
async def test_a_repeated_message_counts_once(sqlite_url: str, run_filter: CallerRunFilter) -> None:
    async with open_engine(sqlite_url) as engine:
        for _ in range(3):
            await engine.say(key_of("once"), "hello", kind="a2a", sender_id="m-1")
        assert await engine.db.read(lambda tx: count_caller_runs(tx, engine.access, run_filter)) == 1
