"""Runs whose gateway does not answer: they wait with growing pauses, and use no attempts."""

import random

import pytest

from carrel.kernel import Access
from carrel.kernel.limits import RETRY_MAX_SECONDS
from carrel.kernel.settings import RunsSettings
from carrel.monitoring import count_unreachable
from carrel.runs import Failed, Rules, retry
from carrel.runs.retries import unreachable_delay_ms
from carrel.runs.unreachable_store import release_from, unreachable_gateways
from tests.harness.engine import DONE, MAIN, Engine, FakeClock, lane_key, open_engine
from tests.requirements.mark import requirement

NOBODY = Failed(code="gateway_unreachable", message="Nothing answers.", retryable=True, unreachable_gateway="default")
WRONG = Failed(code="gateway_unreadable", message="No JSON.", retryable=True)
HOUR_SECONDS = 3_600


async def release(engine: Engine, gateway: str = "default") -> bool:
    return await engine.db.write(lambda tx: release_from(tx, gateway))


async def try_in_vain(engine: Engine) -> float:
    """Make the one attempt that is due, with nobody there; return the pause before the next one, in seconds."""
    held = await engine.take_one()
    await engine.end(held, NOBODY)
    waiting = await engine.run(held.id)
    assert (waiting.state, waiting.error_code) == ("queued", "gateway_unreachable")
    assert waiting.due_at is not None
    return (waiting.due_at - engine.clock.now_ms()) / 1000


@requirement("T.unreachable")
async def test_a_gateway_that_does_not_answer_uses_no_attempts(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(attempts_max=2))
    clock = FakeClock()
    async with open_engine(store_url, rules=rules, clock=clock) as engine:
        run = await engine.say(MAIN, "hello")
        for _ in range(10):
            clock.advance(await try_in_vain(engine))
    async with open_engine(store_url, rules=rules, clock=clock) as engine:
        await engine.end(await engine.take_one(), WRONG)
        clock.advance(RETRY_MAX_SECONDS)
        held = await engine.take_one()
        assert held.attempt == 2, "only the wrong answer was counted"
        await engine.end(held, WRONG)
        assert (await engine.run(run)).reason == "dead_letter"


@requirement("T.unreachable")
def test_pauses_grow_with_the_outage_up_to_a_limit() -> None:
    longest = [unreachable_delay_ms(waited, 1.0) for waited in (0, 5_000, 60_000, 300_000, 86_400_000)]
    assert longest == [5_000, 5_000, 60_000, 300_000, 300_000]
    assert unreachable_delay_ms(60_000, 0.0) == 30_000


@requirement("T.unreachable")
@pytest.mark.parametrize(("hours", "is_over"), [(23.9, False), (24.1, True)])
async def test_a_run_waits_for_its_gateway_as_long_as_the_setting_says(
    store_url: str, hours: float, is_over: bool
) -> None:
    async with open_engine(store_url, rules=Rules(runs=RunsSettings(unreachable_hours=24))) as engine:
        run, following = await engine.say(MAIN, "hello"), await engine.say(MAIN, "next")
        await try_in_vain(engine)
        engine.advance(hours * HOUR_SECONDS)
        await engine.end(await engine.take_one(), NOBODY)
        ended = await engine.run(run)
        assert ended.ended == is_over
        if is_over:
            assert (ended.state, ended.reason, ended.error_code) == ("failed", "timeout", "gateway_unreachable")
            assert (await engine.take_one()).id == following.id


async def test_without_a_limit_a_run_waits_for_its_gateway_for_ever(sqlite_url: str) -> None:
    async with open_engine(sqlite_url, rules=Rules(runs=RunsSettings(unreachable_hours=0))) as engine:
        await engine.say(MAIN, "hello")
        await try_in_vain(engine)
        engine.advance(10_000 * HOUR_SECONDS)
        assert await try_in_vain(engine) <= RETRY_MAX_SECONDS + 1


@requirement("T.unreachable")
async def test_time_without_a_gateway_is_not_taken_from_the_time_of_the_turn(store_url: str) -> None:
    async with open_engine(store_url, rules=Rules(runs=RunsSettings(timeout_minutes=30))) as engine:
        await engine.say(MAIN, "hello")
        await try_in_vain(engine)
        engine.advance(HOUR_SECONDS)
        held = await engine.take_one()
        assert held.deadline_at == engine.clock.now_ms() + 30 * 60_000


async def test_a_time_limit_that_its_sender_has_set_holds_without_a_gateway_too(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "hello", timeout_seconds=60)
        pause = await try_in_vain(engine)
        engine.advance(pause)
        assert (await engine.take_one()).deadline_at == (run.created_at + 60_000)
    async with open_engine(store_url) as engine:
        run = await engine.say(lane_key("other"), "hello", timeout_seconds=60)
        await try_in_vain(engine)
        engine.advance(59.9)
        held = next(one for one in await engine.take(5) if one.id == run.id)
        await engine.end(held, NOBODY)
        ended = await engine.run(run)
        assert (ended.state, ended.reason) == ("failed", "timeout")
        again = await engine.db.write(lambda tx: retry(tx, engine.access, ended, engine.rules))
        assert (again.timeout_ms, again.patience_ms) == (60_000, 0), "sent again, it has the same limit"


async def test_a_run_that_is_sent_again_waits_for_its_gateway_as_before(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        run = await engine.say(MAIN, "hello")
        await engine.end(await engine.take_one(), Failed(code="bad_request", message="400"))
        failed = await engine.run(run)
        again = await engine.db.write(lambda tx: retry(tx, engine.access, failed, engine.rules))
        assert (again.timeout_ms, again.patience_ms) == (run.timeout_ms, 24 * HOUR_SECONDS * 1000)


@requirement("T.unreachable")
async def test_the_runs_that_wait_for_a_gateway_go_on_at_once_in_the_order_they_came(engine: Engine) -> None:
    other = await engine.another_account("other")
    sent = [await engine.say(lane_key(name), name, access=on) for name, on in (("a", None), ("b", other), ("c", None))]
    held = await engine.take(5)
    for one in random.Random(3).sample(held, 3):
        await engine.end(one, NOBODY)
    assert await engine.take(5) == []
    assert await engine.read(unreachable_gateways) == ["default"]
    assert not await release(engine)
    assert [one.id for one in await engine.take(5)] == [run.id for run in sent]
    assert await engine.read(unreachable_gateways) == []


async def test_runs_that_wait_for_another_gateway_or_another_attempt_stay_where_they_are(engine: Engine) -> None:
    for name in ("spare", "wrong"):
        await engine.say(lane_key(name), name)
    first, second = await engine.take(5)
    spare = Failed(code="gateway_unreachable", message="x", retryable=True, unreachable_gateway="spare")
    await engine.end(first, spare)
    await engine.end(second, WRONG)
    await release(engine)
    assert await engine.take(5) == []


async def test_what_waits_for_a_gateway_is_counted_for_its_account_alone(engine: Engine) -> None:
    other = await engine.another_account("other")
    for name in "ab":
        await engine.say(lane_key(name), name)
    await engine.say(lane_key("a"), "a", access=other)
    for one in await engine.take(5):
        await engine.end(one, NOBODY)

    async def count(access: Access) -> dict[str, int]:
        return await engine.read(lambda tx: count_unreachable(tx, access))

    assert await count(engine.access) == {"default": 2}
    assert await count(other) == {"default": 1}


async def test_a_second_outage_is_counted_from_its_own_beginning(engine: Engine) -> None:
    run = await engine.say(MAIN, "hello")
    await try_in_vain(engine)
    engine.advance(10 * HOUR_SECONDS)
    held = await engine.take_one()
    await release(engine)
    await engine.end(held, NOBODY)
    assert (await engine.run(run)).unreachable_since == engine.clock.now_ms()


@requirement("T.unreachable")
async def test_a_run_that_waits_for_its_gateway_can_be_cancelled(engine: Engine) -> None:
    run, following = await engine.say(MAIN, "hello"), await engine.say(MAIN, "next")
    await try_in_vain(engine)
    await engine.cancel(run)
    await release(engine)
    held = await engine.take_one()
    assert held.id == following.id
    await engine.end(held, DONE)
    assert (await engine.run(run)).state == "cancelled"
