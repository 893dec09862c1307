"""Claims: held by one worker at a time, lost with their lease, and useless afterwards."""

import asyncio

from carrel.runs import Failed
from tests.harness.engine import MAIN, Engine, end_and_claim, lane_key, open_engine
from tests.requirements.mark import requirement

REFUSED = Failed(code="bad_request", message="400")


@requirement("S1.x.claim.race", "S0.x.claim")
async def test_concurrent_workers_never_share_a_run_or_a_lane(engine: Engine) -> None:
    for n in range(12):
        await engine.say(lane_key(f"l{n % 6}"), f"line {n}")
    taken = await asyncio.gather(*(engine.take(2, worker=f"worker-{n}") for n in range(8)))
    held = [one for claims in taken for one in claims]
    assert len({one.id for one in held}) == len(held) == len({one.key for one in held}) == 6


async def test_the_end_of_a_run_and_the_next_claim_are_one_commit(engine: Engine) -> None:
    first, second = await engine.say(MAIN, "first"), await engine.say(MAIN, "second")
    held = await engine.take_one()
    (following,) = await engine.db.write(lambda tx: end_and_claim(tx, held))
    assert (following.id, following.state) == (second.id, "running")
    assert (await engine.run(first.id)).state == "completed"
    other = await engine.say(lane_key("older"), "due before the lane's next")
    third = await engine.say(MAIN, "third")
    (oldest,) = await engine.db.write(lambda tx: end_and_claim(tx, following))
    assert oldest.id == other.id
    assert (await engine.take_one()).id == third.id


async def test_of_runs_that_end_together_only_those_with_a_valid_claim_are_written(engine: Engine) -> None:
    lost = await engine.say(lane_key("lost"), "taken over")
    overtaken = await engine.take_one()
    first, second = await engine.say(MAIN, "first"), await engine.say(MAIN, "second")
    engine.advance(60)
    await engine.rescue()
    held = {run.id: run for run in await engine.take(2)}
    assert held.keys() == {lost.id, first.id}
    (following,) = await engine.db.write(lambda tx: end_and_claim(tx, overtaken, held[first.id]))
    assert following.id == second.id
    assert (await engine.run(lost.id)).state == "running"


@requirement("S1.store.survive")
async def test_a_restart_keeps_everything_and_the_order_of_the_queue(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        runs = [await engine.say(MAIN, f"line {n}") for n in range(5)]
        await engine.take_one()
        clock = engine.clock
    async with open_engine(store_url, clock=clock) as engine:
        engine.advance(60)
        await engine.rescue()
        order = []
        for _ in runs:
            held = await engine.take_one()
            order.append(held.id)
            await engine.end(held)
        assert order == [run.id for run in runs]
