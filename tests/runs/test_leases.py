"""Runs whose worker is lost: taken up again, left to a person, or ended."""

from collections.abc import Callable

import pytest

from carrel.kernel.settings import RunsSettings
from carrel.records import call_of, finish_call, record_call
from carrel.runs import Claim, ClaimLost, Failed, NeedsInput, Rules, fence
from carrel.runs.model import Cancelled
from carrel.storage import Tx
from tests.harness.engine import MAIN, Engine, lane_key, open_engine
from tests.requirements.mark import requirement

BAD_WAY = Failed(code="unreachable", message="no answer", retryable=True)


@requirement("S1.x.restart.working", "S1.x.stuck")
async def test_a_run_whose_worker_is_lost_returns_to_the_head_of_its_lane(engine: Engine) -> None:
    lost, following = await engine.say(MAIN, "lost"), await engine.say(MAIN, "next")
    held = await engine.take_one()
    engine.advance(59)
    assert await engine.rescue() == 0
    engine.advance(1)
    assert await engine.rescue() == 1
    back = await engine.run(lost.id)
    assert (back.state, back.attempt, back.worker) == ("queued", 1, None)
    again = await engine.take_one()
    assert (again.id, again.attempt) == (lost.id, 2)
    assert again.claim_no > held.claim_no
    await engine.end(again)
    assert (await engine.take_one()).id == following.id


def writing(
    engine: Engine, held: Claim, effect: str, wait: tuple[str, int] | None = None
) -> Callable[[Tx], None]:  # fmt: skip
    """Make a tool call as a turn does: fenced, and recorded in the transaction of its effect."""

    def work(tx: Tx) -> None:
        fence(tx, held)
        record_call(
            tx,
            engine.access,
            held.id,
            "call-1",
            tool="task_create",
            effect=effect,
            result="" if wait else "{}",
            wait=wait,
        )

    return work


@requirement("S1.x.restart.working")
@pytest.mark.parametrize(("effect", "state"), [("write", "failed"), ("read", "queued")])
async def test_a_lost_run_that_had_written_something_is_left_to_a_person(
    engine: Engine, effect: str, state: str
) -> None:
    lost, following = await engine.say(MAIN, "lost"), await engine.say(MAIN, "next")
    await engine.db.write(writing(engine, await engine.take_one(), effect))
    engine.advance(60)
    await engine.rescue()
    found = await engine.run(lost.id)
    assert found.state == state
    if state == "failed":
        assert (found.reason, (await engine.take_one()).id) == ("interrupted", following.id)


@requirement("S2.send.serverwait")
async def test_a_lost_run_that_waited_for_another_run_returns_to_its_lane(engine: Engine) -> None:
    waiting = await engine.say(MAIN, "ask the other")
    await engine.db.write(writing(engine, await engine.take_one(), "write", wait=("run_of_another", 0)))
    engine.advance(60)
    await engine.rescue()
    assert (await engine.take_one()).id == waiting.id
    await engine.db.write(lambda tx: finish_call(tx, engine.access, waiting.id, "call-1", "{}"))
    engine.advance(60)
    await engine.rescue()
    assert (await engine.run(waiting.id)).reason == "interrupted"


async def test_a_run_that_loses_every_worker_becomes_a_dead_letter(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(attempts_max=2, timeout_minutes=0))
    async with open_engine(store_url, rules=rules) as engine:
        run = await engine.say(MAIN, "poison")
        for _ in range(2):
            await engine.take_one()
            engine.advance(60)
            await engine.rescue()
        ended = await engine.run(run.id)
        assert (ended.state, ended.reason) == ("failed", "dead_letter")


async def test_a_lost_run_that_was_to_stop_or_is_past_its_limit_ends(engine: Engine) -> None:
    stopped = await engine.say(lane_key("a"), "stop me")
    late = await engine.say(lane_key("b"), "late", timeout_seconds=30)
    await engine.take(2)
    await engine.cancel(stopped.id, "stopped")
    engine.advance(60)
    await engine.rescue()
    ends = [await engine.run(run.id) for run in (stopped, late)]
    assert [(run.state, run.reason) for run in ends] == [("cancelled", "stopped"), ("failed", "timeout")]


async def test_cancelling_a_run_whose_worker_is_lost_ends_it_at_once(engine: Engine) -> None:
    run = await engine.say(MAIN, "lost")
    await engine.take_one()
    engine.advance(60)
    ended = await engine.cancel(run.id)
    assert ended is not None
    assert ended.state == "cancelled"
    assert await engine.depth(MAIN) == 0


@requirement("S0.x.claim", "S0.x.tools.once")
async def test_a_worker_that_resumes_after_its_lease_ran_out_writes_nothing(engine: Engine) -> None:
    run = await engine.say(MAIN, "slow")
    asleep = await engine.take_one()
    engine.advance(60)
    writes: list[Callable[[], object]] = [
        lambda: engine.start_turn(asleep),
        lambda: engine.db.write(writing(engine, asleep, "write")),
        lambda: engine.end(asleep),
        lambda: engine.end(asleep, BAD_WAY),
        lambda: engine.end(asleep, NeedsInput(question="?")),
        lambda: engine.end(asleep, Cancelled(reason="stopped")),
    ]
    for rescued in (False, True):
        if rescued:
            await engine.rescue()
            await engine.take_one()
        for write in writes:
            with pytest.raises(ClaimLost):
                await write()  # type: ignore[misc]
        assert await engine.depth(MAIN) == 1
    found = await engine.run(run.id)
    assert (found.state, found.reply, found.session_id) == ("running", None, None)
    assert await engine.db.read(lambda tx: call_of(tx, engine.access, run.id, "call-1")) is None
