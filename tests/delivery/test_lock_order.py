"""A first hearing and a cancel of the same run meet: both take the lane first, so neither waits for the other."""

import asyncio
import threading

import pytest

from carrel.delivery.hearing import hear
from carrel.runs import ClaimLost, cancel
from carrel.sessions import lock_lane
from carrel.storage import Tx
from tests.engine import MAIN, SECONDS_MAX, open_engine

pytestmark = pytest.mark.anyio


async def test_a_first_hearing_and_a_cancel_never_wait_for_each_other(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        run = await engine.say(MAIN, "hello")
        held = await engine.take_one()
        lane_is_held = threading.Event()
        calls: list[str] = []

        def stop(tx: Tx) -> None:
            calls.append("cancel")
            lock_lane(tx, engine.access, str(MAIN))
            lane_is_held.set()
            # Looking is all the waiting there is: until the hearing stands before the lane.
            for _ in range(100_000):
                if tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"):
                    break
            else:
                raise AssertionError("the hearing never came to the lane")
            cancel(tx, engine.access, run.id, "stopped")

        def begin(tx: Tx) -> None:
            calls.append("hear")
            assert lane_is_held.wait(SECONDS_MAX)
            hear(tx, held)

        stopped, begun = await asyncio.gather(engine.db.write(stop), engine.db.write(begin), return_exceptions=True)
        assert stopped is None
        assert isinstance(begun, ClaimLost)
        assert sorted(calls) == ["cancel", "hear"]
        assert (await engine.run(run.id)).session_id is None
