"""How runs move through a lane: in order and one at a time, whatever their outcome."""

from carrel.runs import (
    Claim,
)
from tests.harness.engine import MAIN, Engine, lane_key
from tests.requirements.mark import requirement


async def texts(engine: Engine, held: list[Claim]) -> list[str]:
    return [(await engine.run(one.id)).text for one in held]


@requirement("S1.dispatch.fifo", "S1.dispatch.serial", "S1.x.order.kept")
async def test_a_lane_works_in_order_one_run_at_a_time(engine: Engine) -> None:
    for text in "abc":
        await engine.say(MAIN, text)
    for text in "abc":
        held = await engine.take(5)
        assert await texts(engine, held) == [text]
        assert await engine.take(5) == []
        await engine.end(held[0])
    assert await engine.take(5) == []
    assert await engine.depth(MAIN) == 0


@requirement("S1.dispatch.parallel", "S1.dispatch.idle")
async def test_different_lanes_run_at_the_same_time_oldest_first(engine: Engine) -> None:
    for name in "abc":
        await engine.say(lane_key(name), name)
    assert await texts(engine, await engine.take(2)) == ["a", "b"]
    assert await texts(engine, await engine.take(2)) == ["c"]
