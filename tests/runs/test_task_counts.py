"""How many tasks a caller has: kept beside them, and always what counting them one by one would give."""

import random

import pytest

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import Settings
from carrel.runs import TaskFilter, count_tasks, newest_tasks, prune, remove_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.harness.engine import FakeClock, open_engine
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio
WANTED = TaskFilter(agent_id="main")


def key_of(name: str) -> SessionKey:
    return SessionKey.of("main", f"a2a:{'0' * 12}:{name}")


def counted(tx: Tx, access: Access) -> tuple[int, int]:
    """(the count that is kept, the tasks there are)"""
    return count_tasks(tx, access, WANTED), len(newest_tasks(tx, access, WANTED, before=None, limit=1_000))


@requirement("S1.list.page")
async def test_the_count_that_is_kept_is_the_number_of_tasks_whatever_happens_to_them(store_url: str) -> None:
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
        kept, there = await engine.db.read(lambda tx: counted(tx, engine.access))
        assert kept == there < 30
        engine.advance(8 * 24 * 3600)
        await engine.db.write(lambda tx: prune(tx, Settings()))
        kept, left = await engine.db.read(lambda tx: counted(tx, engine.access))
        assert kept == left < there


@pytest.mark.parametrize("wanted", [WANTED, TaskFilter(agent_id="main", condition="state = 'queued'")])
async def test_a_message_that_is_sent_twice_counts_once(sqlite_url: str, wanted: TaskFilter) -> None:
    async with open_engine(sqlite_url) as engine:
        for _ in range(3):
            await engine.say(key_of("once"), "hello", kind="a2a", sender_id="m-1")
        assert await engine.db.read(lambda tx: count_tasks(tx, engine.access, wanted)) == 1
