"""Cancelling a run or stopping a lane: what is queued never starts, what works writes nothing more."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.runs import (
    ClaimLost,
    Completed,
    NeedsInput,
    answer,
    stop_lane,
)
from tests.harness.engine import MAIN, Engine, words
from tests.requirements.mark import requirement


async def test_a_queued_run_is_cancelled_at_once_and_never_starts(engine: Engine) -> None:
    head, behind = await engine.say(MAIN, "head"), await engine.say(MAIN, "behind")
    for run in (behind, head):
        ended = await engine.cancel(run.id, "stopped")
        assert ended is not None
        assert (ended.state, ended.reason) == ("cancelled", "stopped")
    assert await engine.cancel(head.id) is None
    assert await engine.cancel("run_" + "0" * 26) is None
    assert await engine.take(5) == []
    assert await engine.depth(MAIN) == 0


async def test_cancelling_the_head_starts_the_next_run(engine: Engine) -> None:
    head, behind = await engine.say(MAIN, "head"), await engine.say(MAIN, "behind")
    await engine.cancel(head.id)
    assert (await engine.take_one()).id == behind.id


@requirement("S2.x.stop.cutoff")
async def test_a_stopped_run_writes_nothing_more_and_ends_cancelled(engine: Engine) -> None:
    run, following = await engine.say(MAIN, "work"), await engine.say(MAIN, "next")
    held = await engine.take_one()
    asked = await engine.cancel(run.id, "stopped")
    assert asked is not None
    assert (asked.state, asked.stopping) == ("running", "stopped")
    with pytest.raises(ClaimLost):
        await engine.start_turn(held)
    assert await engine.take(5) == []
    await engine.end(held, Completed(reply="too late"))
    ended = await engine.run(run.id)
    assert (ended.state, ended.reason, ended.reply) == ("cancelled", "stopped", None)
    assert (await engine.take_one()).id == following.id


async def test_cancelling_a_waiting_run_affects_no_other(engine: Engine) -> None:
    asking, following = await engine.say(MAIN, "ask"), await engine.say(MAIN, "next")
    await engine.end(await engine.take_one(), NeedsInput(question="which?"))
    held = await engine.take_one()
    await engine.cancel(asking.id)
    assert (await engine.run(asking.id)).state == "cancelled"
    assert (held.id, await engine.depth(MAIN)) == (following.id, 1)
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("this one")))
    assert caught.value.code == Code.CONFLICT


async def test_stopping_a_lane_cancels_all_its_runs_and_starts_none(engine: Engine) -> None:
    runs = [await engine.say(MAIN, f"line {n}") for n in range(4)]
    held = await engine.take_one()
    stopped = await engine.db.write(lambda tx: stop_lane(tx, engine.access, str(MAIN), "stopped"))
    assert set(stopped) == {run.id for run in runs}
    assert await engine.take(5) == []
    await engine.end(held)
    assert {(await engine.run(run.id)).state for run in runs} == {"cancelled"}
    after = await engine.say(MAIN, "after")
    assert (await engine.take_one()).id == after.id
