"""How runs move through a lane: in order and one at a time, whatever their outcome."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.kernel.settings import A2aSettings, A2aTasksSettings, RunsSettings, Settings
from carrel.runs import (
    Claim,
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    Rules,
    answer,
    retry,
    stop_lane,
)
from carrel.runs.model import Cancelled
from carrel.runs.pruner import prune
from tests.harness.engine import DONE, MAIN, Engine, lane_key, open_engine, words
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio
UNREACHABLE = Failed(code="unreachable", message="no answer", retryable=True)
REFUSED = Failed(code="bad_request", message="400")


async def texts(engine: Engine, held: list[Claim]) -> list[str]:
    return [(await engine.run(one.id)).text for one in held]


@requirement("S1.dispatch.fifo", "S1.dispatch.serial", "S1.x.order.kept")
async def test_a_lane_works_in_order_one_run_at_a_time(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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
async def test_different_lanes_run_at_the_same_time_oldest_first(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        for name in "abc":
            await engine.say(lane_key(name), name)
        assert await texts(engine, await engine.take(2)) == ["a", "b"]
        assert await texts(engine, await engine.take(2)) == ["c"]


@requirement("S1.dispatch.next")
@pytest.mark.parametrize(
    "outcome",
    [DONE, REFUSED, Cancelled(reason="stopped"), NeedsInput(question="which?"), Failed(code="timeout", message="late")],
    ids=["completed", "failed", "cancelled", "waiting", "timeout"],
)
async def test_after_every_outcome_the_next_run_of_the_lane_starts(store_url: str, outcome: Outcome) -> None:
    async with open_engine(store_url) as engine:
        first, second = await engine.say(MAIN, "first"), await engine.say(MAIN, "second")
        await engine.end(await engine.take_one(), outcome)
        assert (await engine.run(first.id)).state not in ("queued", "running")
        assert (await engine.take_one()).id == second.id


@requirement("S1.x.bind.run")
async def test_an_outcome_ends_its_own_run_and_no_other(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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


async def test_a_permanent_failure_fails_at_once(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "wrong")
        await engine.end(await engine.take_one(), REFUSED)
        ended = await engine.run(run.id)
        assert (ended.state, ended.attempt, ended.reason) == ("failed", 1, None)


async def test_only_a_failed_run_can_be_retried_by_hand(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "hello")
        with pytest.raises(Refusal) as caught:
            await engine.db.write(lambda tx: retry(tx, engine.access, run, engine.rules))
        assert caught.value.code == Code.CONFLICT


@requirement("S0.x.backoff.own")
async def test_the_pause_of_one_run_delays_no_other_lane(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(lane_key("bad"), "bad")
        await engine.end(await engine.take_one(), UNREACHABLE)
        good = await engine.say(lane_key("good"), "good")
        assert [held.id for held in await engine.take(5)] == [good.id]


async def test_retry_after_is_respected(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "hello")
        told = Failed(code="http_429", message="slow down", retryable=True, retry_after_seconds=120)
        await engine.end(await engine.take_one(), told)
        assert (await engine.run(run.id)).due_at == engine.clock.now_ms() + 120_000


@requirement("S1.timeout.default")
async def test_a_retry_beyond_the_time_limit_ends_the_run_as_timed_out(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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


async def test_a_queued_run_is_cancelled_at_once_and_never_starts(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        head, behind = await engine.say(MAIN, "head"), await engine.say(MAIN, "behind")
        for run in (behind, head):
            ended = await engine.cancel(run.id, "stopped")
            assert ended is not None
            assert (ended.state, ended.reason) == ("cancelled", "stopped")
        assert await engine.cancel(head.id) is None
        assert await engine.cancel("run_" + "0" * 26) is None
        assert await engine.take(5) == []
        assert await engine.depth(MAIN) == 0


async def test_cancelling_the_head_starts_the_next_run(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        head, behind = await engine.say(MAIN, "head"), await engine.say(MAIN, "behind")
        await engine.cancel(head.id)
        assert (await engine.take_one()).id == behind.id


@requirement("S2.x.stop.cutoff")
async def test_a_stopped_run_writes_nothing_more_and_ends_cancelled(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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


async def test_cancelling_a_waiting_run_affects_no_other(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        asking, following = await engine.say(MAIN, "ask"), await engine.say(MAIN, "next")
        await engine.end(await engine.take_one(), NeedsInput(question="which?"))
        held = await engine.take_one()
        await engine.cancel(asking.id)
        assert (await engine.run(asking.id)).state == "cancelled"
        assert (held.id, await engine.depth(MAIN)) == (following.id, 1)
        with pytest.raises(Refusal) as caught:
            await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("this one")))
        assert caught.value.code == Code.CONFLICT


@requirement("S1.dispatch.waiting", "P.waiting")
async def test_an_answered_run_is_queued_before_later_messages(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        asking = await engine.say(MAIN, "ask")
        await engine.end(await engine.take_one(), NeedsInput(question="which?", waiting_for="input"))
        waiting = await engine.run(asking.id)
        assert (waiting.state, waiting.waiting_for, waiting.question) == ("waiting", "input", "which?")
        assert await engine.depth(MAIN) == 0
        earlier = await engine.say(MAIN, "said before the answer")
        running = await engine.take_one()
        queued = await engine.say(MAIN, "queued before the answer")
        await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("this one")))
        later = await engine.say(MAIN, "queued after the answer")
        order = [running.id]
        while True:
            await engine.end(running)
            taken = await engine.take(2)
            if not taken:
                break
            (running,) = taken
            order.append(running.id)
        assert order == [earlier.id, queued.id, asking.id, later.id]
        with pytest.raises(Refusal):
            await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("again")))


@requirement("P.waiting")
async def test_a_run_that_waits_too_long_for_a_person_expires(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "ask")
        await engine.end(await engine.take_one(), NeedsInput(question="which?"))
        engine.advance(7 * 86_400)
        await engine.db.write(lambda tx: prune(tx, Settings()))
        assert (await engine.run(run.id)).state == "waiting"
        engine.advance(1)
        await engine.db.write(lambda tx: prune(tx, Settings()))
        ended = await engine.run(run.id)
        assert (ended.state, ended.reason) == ("cancelled", "expired")


async def test_stopping_a_lane_cancels_all_its_runs_and_starts_none(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        runs = [await engine.say(MAIN, f"line {n}") for n in range(4)]
        held = await engine.take_one()
        stopped = await engine.db.write(lambda tx: stop_lane(tx, engine.access, str(MAIN), "stopped"))
        assert set(stopped) == {run.id for run in runs}
        assert await engine.take(5) == []
        await engine.end(held)
        assert {(await engine.run(run.id)).state for run in runs} == {"cancelled"}
        after = await engine.say(MAIN, "after")
        assert (await engine.take_one()).id == after.id


@requirement("S1.ttl.default", "S1.ttl.all.ends")
async def test_ended_runs_are_pruned_after_their_retention_and_live_ones_never(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        ends: dict[str, Outcome] = {"completed": DONE, "failed": REFUSED, "cancelled": Cancelled(reason="stopped")}
        ended = []
        for name, outcome in ends.items():
            ended.append(await engine.say(lane_key(name), name, kind="a2a"))
            await engine.end(await engine.take_one(), outcome)
        await engine.say(lane_key("waiting"), "waiting", kind="a2a")
        await engine.end(await engine.take_one(), NeedsInput(question="?"))
        await engine.say(lane_key("working"), "working", kind="a2a")
        await engine.take_one()
        await engine.say(lane_key("working"), "queued", kind="a2a")
        settings = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=7)), runs=RunsSettings(waiting_days=0))

        async def texts_left() -> set[str]:
            await engine.db.write(lambda tx: prune(tx, settings))
            return {row[0] for row in await engine.db.read(lambda tx: tx.all("SELECT text FROM runs"))}

        engine.advance(7 * 86_400)
        assert len(await texts_left()) == 6
        engine.advance(1)
        assert await texts_left() == {"waiting", "working", "queued"}


async def test_a_ttl_of_zero_keeps_runs_forever(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        run = await engine.say(MAIN, "keep", kind="a2a")
        await engine.end(await engine.take_one())
        engine.advance(36_000 * 86_400)
        keeping = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=0)))
        await engine.db.write(lambda tx: prune(tx, keeping))
        assert (await engine.run(run.id)).state == "completed"
