"""What follows the end of an attempt: the next run, a retry with a pause, or the end."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.kernel.settings import RunsSettings
from carrel.runs import (
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    Rules,
    retry,
)
from carrel.runs.model import Cancelled
from tests.harness.engine import DONE, MAIN, Engine, lane_key, open_engine
from tests.requirements.mark import requirement

UNREACHABLE = Failed(code="unreachable", message="no answer", retryable=True)
REFUSED = Failed(code="bad_request", message="400")


@requirement("S1.dispatch.next")
@pytest.mark.parametrize(
    "outcome",
    [DONE, REFUSED, Cancelled(reason="stopped"), NeedsInput(question="which?"), Failed(code="timeout", message="late")],
    ids=["completed", "failed", "cancelled", "waiting", "timeout"],
)
async def test_after_every_outcome_the_next_run_of_the_lane_starts(engine: Engine, outcome: Outcome) -> None:
    first, second = await engine.say(MAIN, "first"), await engine.say(MAIN, "second")
    await engine.end(await engine.take_one(), outcome)
    assert (await engine.run(first.id)).state not in ("queued", "running")
    assert (await engine.take_one()).id == second.id


@requirement("S1.x.bind.run")
async def test_an_outcome_ends_its_own_run_and_no_other(engine: Engine) -> None:
    first, second = await engine.say(MAIN, "a2a", kind="a2a"), await engine.say(MAIN, "chat")
    held = await engine.take_one()
    await engine.end(held, Completed(reply="for the first"))
    following = await engine.take_one()
    with pytest.raises(ClaimLost):
        await engine.end(held, Completed(reply="again"))
    await engine.end(following, Completed(reply="for the second"))
    replies = [(await engine.run(run.id)).reply for run in (first, second)]
    assert replies == ["for the first", "for the second"]


@requirement("S0.x.poison", "S0.x.attempts.durable", "S0.x.headofline")
async def test_a_retryable_failure_is_retried_with_growing_pauses(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(attempts_max=3, timeout_minutes=0))
    async with open_engine(store_url, rules=rules) as engine:
        poison, following = await engine.say(MAIN, "poison"), await engine.say(MAIN, "next")
    clock = engine.clock
    for attempt, bound_seconds in ((1, 5), (2, 10)):
        # Reopened each time: a restart does not reset the attempts.
        async with open_engine(store_url, rules=rules, clock=clock) as engine:
            held = await engine.take_one()
            assert (held.id, held.attempt) == (poison.id, attempt)
            await engine.end(held, UNREACHABLE)
            waiting = await engine.run(poison.id)
            assert (waiting.state, waiting.error_code) == ("queued", "unreachable")
            assert waiting.due_at is not None
            assert 0 < waiting.due_at - clock.now_ms() <= bound_seconds * 1000
            assert await engine.take(5) == []
            engine.advance(bound_seconds)
    async with open_engine(store_url, rules=rules, clock=clock) as engine:
        await engine.end(await engine.take_one(), UNREACHABLE)
        ended = await engine.run(poison.id)
        assert (ended.state, ended.reason, ended.attempt) == ("failed", "dead_letter", 3)
        assert (ended.error_code, ended.error_message) == ("unreachable", "no answer")
        assert (await engine.take_one()).id == following.id
        again = await engine.db.write(lambda tx: retry(tx, engine.access, ended, engine.rules))
        assert (again.text, again.retried_from, again.state) == ("poison", poison.id, "queued")


async def test_a_permanent_failure_fails_at_once(engine: Engine) -> None:
    run = await engine.say(MAIN, "wrong")
    await engine.end(await engine.take_one(), REFUSED)
    ended = await engine.run(run.id)
    assert (ended.state, ended.attempt, ended.reason) == ("failed", 1, None)


async def test_only_a_failed_run_can_be_retried_by_hand(engine: Engine) -> None:
    run = await engine.say(MAIN, "hello")
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: retry(tx, engine.access, run, engine.rules))
    assert caught.value.code == Code.CONFLICT


@requirement("S0.x.backoff.own")
async def test_the_pause_of_one_run_delays_no_other_lane(engine: Engine) -> None:
    await engine.say(lane_key("bad"), "bad")
    await engine.end(await engine.take_one(), UNREACHABLE)
    good = await engine.say(lane_key("good"), "good")
    assert [held.id for held in await engine.take(5)] == [good.id]


async def test_retry_after_is_respected(engine: Engine) -> None:
    run = await engine.say(MAIN, "hello")
    told = Failed(code="http_429", message="slow down", retryable=True, retry_after_seconds=120)
    await engine.end(await engine.take_one(), told)
    assert (await engine.run(run.id)).due_at == engine.clock.now_ms() + 120_000


@requirement("S1.timeout.default")
async def test_a_retry_beyond_the_time_limit_ends_the_run_as_timed_out(engine: Engine) -> None:
    engine.advance(0)
    run = await engine.say(MAIN, "hello", timeout_seconds=60)
    engine.advance(3_600)
    held = await engine.take_one()
    assert held.deadline_at == engine.clock.now_ms() + 60_000
    engine.advance(30)
    told = Failed(code="http_429", message="slow down", retryable=True, retry_after_seconds=40)
    await engine.end(held, told)
    ended = await engine.run(run.id)
    assert (ended.state, ended.reason) == ("failed", "timeout")


@requirement("S1.timeout.default")
async def test_the_time_limit_counts_from_the_first_start_and_zero_means_none(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(timeout_minutes=0))
    async with open_engine(store_url, rules=rules) as engine:
        await engine.say(lane_key("limited"), "limited", timeout_seconds=600)
        first = await engine.take_one()
        await engine.end(first, UNREACHABLE)
        engine.advance(5)
        second = await engine.take_one()
        assert (second.deadline_at, second.started_at) == (first.deadline_at, first.started_at)
        await engine.say(lane_key("free"), "free")
        assert (await engine.take_one()).deadline_at is None
