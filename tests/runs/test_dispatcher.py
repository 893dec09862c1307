"""The dispatcher: real waits, real stops, a real second server."""

import asyncio
import logging
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from carrel.kernel import Code, Refusal
from carrel.kernel.settings import RunsSettings
from carrel.runs import Claim, Completed, Failed, NeedsInput, Outcome, Rules, answer, fence, run_by_id
from carrel.runs.dispatcher import Dispatcher
from carrel.runs.leases import rescue_lost
from carrel.runs.queue_store import expire_leases, next_due
from carrel.runs.store import ask_to_stop
from carrel.storage import Tx, sqlite_path
from tests.harness.elapsing import Elapsing
from tests.harness.engine import (
    MAIN,
    SECONDS_MAX,
    Commanded,
    Engine,
    FakeClock,
    lane_key,
    open_engine,
    within,
    words,
)
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement

T = TypeVar("T")
UNREACHABLE = Failed(code="unreachable", message="no answer", retryable=True)


@requirement("S1.dispatch.fifo", "S1.dispatch.busy", "S1.dispatch.next")
async def test_a_lane_works_in_the_order_of_its_messages(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn):
        runs = [await engine.say(MAIN, text) for text in "abc"]
        for run in runs:
            held = await worker.next()
            assert held.id == run.id
            assert worker.begun.empty()
            worker.end(held.id, Completed(reply=f"answer to {run.text}"))
            assert (await engine.settled(run.id)).reply == f"answer to {run.text}"


async def test_a_run_whose_turn_notices_the_stop_by_itself_ends_at_once(engine: Engine) -> None:

    async def turn(held: Claim) -> Outcome:
        # As another server asks for it: nothing tells this one but the row of the run.
        await engine.db.write(lambda tx: ask_to_stop(tx, held.access, held.id, "stopped"))
        await engine.db.write(lambda tx: fence(tx, held))
        raise AssertionError("the fence lets a stopped run pass")

    async with engine.working(turn):
        ended = await engine.settled(await engine.say(MAIN, "work"))
        assert (ended.state, ended.reason) == ("cancelled", "stopped")


@requirement("S1.dispatch.parallel")
async def test_lanes_run_in_parallel_up_to_the_limit_and_a_slow_one_delays_no_other(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn, concurrency=3):
        runs = {run.id: run for run in [await engine.say(lane_key(f"l{n}"), str(n)) for n in range(5)]}
        first = [await worker.next() for _ in range(3)]
        # The next run can only be claimed by a slot that was freed.
        assert worker.begun.empty()
        slow, *others = first
        finished = 0
        for held in others:
            worker.end(held.id)
        while finished < 2:
            worker.end((await worker.next()).id)
            finished += 1
        for run_id in runs.keys() - {slow.id}:
            assert (await engine.settled(run_id)).state == "completed"
        assert (await engine.run(slow.id)).state == "running"
        worker.end(slow.id)
        await engine.settled(slow.id)


@requirement("S1.timeout.cancels")
async def test_a_stop_cancels_the_turn_and_discards_its_result(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn):
        run, following = await engine.say(MAIN, "long"), await engine.say(MAIN, "next")
        held = await worker.next()
        await engine.cancel(run.id, "stopped")
        ended = await engine.settled(run.id)
        assert (ended.state, ended.reason, ended.reply) == ("cancelled", "stopped", None)
        assert worker.stopped == [held.id]
        assert (await worker.next()).id == following.id
        worker.end(following.id)
        await engine.settled(following.id)


@requirement("S1.timeout.default", "S1.timeout.cancels")
async def test_a_turn_that_exceeds_its_time_limit_is_stopped_and_fails(store_url: str) -> None:
    rules = Rules(a2a_timeout_minutes=0.001, runs=RunsSettings(timeout_minutes=0))
    async with open_engine(store_url, rules=rules) as engine:
        worker = Commanded()
        async with engine.working(worker.turn):
            limited, free = await engine.say(MAIN, "late", kind="a2a"), await engine.say(lane_key("free"), "free")
            begun = {(await worker.next()).id for _ in range(2)}
            assert begun == {limited.id, free.id}
            ended = await engine.settled(limited.id)
            assert (ended.state, ended.reason, ended.error_code) == ("failed", "timeout", "timeout")
            assert worker.stopped == [limited.id]
            assert (await engine.run(free.id)).state == "running"
            worker.end(free.id)
            await engine.settled(free.id)


@requirement("S2.x.lane.recovers")
async def test_a_turn_that_raises_fails_its_own_run_and_no_other(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn):
        broken, other = await engine.say(MAIN, "broken"), await engine.say(lane_key("other"), "other")
        following = await engine.say(MAIN, "next")
        for _ in range(2):
            await worker.next()
        worker.fail(broken.id, ZeroDivisionError("a secret detail"))
        ended = await engine.settled(broken.id)
        assert (ended.state, ended.error_code) == ("failed", "internal")
        assert "secret" not in (ended.error_message or "")
        assert (await worker.next()).id == following.id
        for run in (following, other):
            worker.end(run.id)
            assert (await engine.settled(run.id)).state == "completed"


@requirement("S0.x.poison", "S0.x.headofline")
async def test_a_retry_starts_after_its_pause_while_the_lane_waits(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn):
        run, following = await engine.say(MAIN, "unreachable"), await engine.say(MAIN, "next")
        for _ in range(2):
            worker.end((await worker.next()).id, UNREACHABLE)
            await engine.until(lambda tx: tx.one("SELECT 1 FROM runs WHERE state = 'running'") is None)
            assert worker.begun.empty()
            engine.advance(20)
        worker.end((await worker.next()).id)
        assert (await engine.settled(run.id)).attempt == 3
        assert (await worker.next()).id == following.id


@requirement("S1.dispatch.waiting")
async def test_a_turn_that_asks_for_input_frees_its_lane_until_the_answer(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn):
        asking, following = await engine.say(MAIN, "ask"), await engine.say(MAIN, "next")
        worker.end((await worker.next()).id, NeedsInput(question="which?"))
        assert (await engine.settled(asking.id)).state == "waiting"
        assert (await worker.next()).id == following.id
        await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("this one")))
        worker.end(following.id)
        assert (await worker.next()).id == asking.id
        worker.end(asking.id)
        assert (await engine.settled(asking.id)).state == "completed"


async def test_draining_starts_nothing_and_waits_for_running_turns(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn) as dispatcher:
        run, behind = await engine.say(MAIN, "running"), await engine.say(MAIN, "behind")
        await worker.next()
        await within(no_claim_under_way(dispatcher, turns=1))
        async with asyncio.TaskGroup() as group:
            draining = group.create_task(dispatcher.drain(SECONDS_MAX))
            await asyncio.sleep(0)
            other = await engine.say(lane_key("other"), "not started")
            assert dispatcher.draining
            assert not draining.done()
            worker.end(run.id)
        assert (await engine.run(run.id)).state == "completed"
        assert [(await engine.run(one.id)).state for one in (behind, other)] == ["queued", "queued"]
        assert worker.begun.empty()


async def no_claim_under_way(dispatcher: Dispatcher, turns: int) -> None:
    """A claim that has begun when draining begins may still take what it finds."""
    slots = dispatcher._slots
    # A claim may return its slots on the writer's thread, which cannot set an event of this loop.
    while slots._free < slots._count - turns:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_turns_that_do_not_end_in_time_are_left_to_rescue(engine: Engine) -> None:
    worker = Commanded()
    async with engine.working(worker.turn) as dispatcher:
        run = await engine.say(MAIN, "too long")
        await worker.next()
        await within(dispatcher.drain(0.01))
        assert (await engine.run(run.id)).state == "running"
    assert worker.stopped == [run.id]
    engine.advance(60)
    assert await engine.rescue() == 1
    assert (await engine.run(run.id)).state == "queued"


async def test_an_idle_dispatcher_drains_at_once(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine, engine.working(Commanded().turn) as dispatcher:
        await within(dispatcher.drain(100 * SECONDS_MAX))


@requirement("S1.x.restart.working")
async def test_a_starting_server_of_a_file_takes_back_the_runs_of_the_last_one(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        run = await engine.say(MAIN, "left behind")
        await engine.take_one()
        clock = engine.clock
    async with open_engine(sqlite_url, clock=clock) as engine:
        worker = Commanded()
        async with engine.working(worker.turn):
            held = await worker.next()
            assert (held.id, held.attempt) == (run.id, 2)
            worker.end(held.id)
            await engine.settled(run.id)


@requirement("S1.x.stuck")
async def test_an_outcome_that_could_not_be_written_is_written_when_the_store_is_back(sqlite_url: str) -> None:
    path = sqlite_path(sqlite_url)
    assert path is not None
    async with open_engine(sqlite_url, real=True) as engine:
        worker = Commanded()
        async with engine.working(worker.turn):
            run = await engine.say(MAIN, "work")
            await fill_disk_while(worker, await worker.next(), path)
            await engine.settled(run.id)
        ended = await engine.run(run.id)
        assert (ended.state, ended.attempt) == ("completed", 1)


async def test_a_run_whose_lease_ran_out_before_its_outcome_was_written_runs_again(sqlite_url: str) -> None:
    async with open_engine(sqlite_url, real=True) as engine:
        worker = Commanded()
        async with engine.working(worker.turn):
            run = await engine.say(MAIN, "work")
            held = await worker.next()
            await engine.db.write(expire_leases)
            worker.end(held.id)
            await engine.db.write(rescue_lost)
            again = await worker.next()
            assert (again.id, again.attempt) == (run.id, 2)
            worker.end(again.id)
            await engine.settled(run.id)


@requirement("S1.x.stuck")
async def test_a_turn_whose_lease_ran_out_is_cancelled_when_its_run_is_claimed_again(store_url: str) -> None:
    async with open_engine(store_url, real=True) as engine:
        begun, gone = asyncio.Queue[Claim](), asyncio.Queue[int]()
        may_end = asyncio.Event()

        async def turn(claim: Claim) -> Outcome:
            begun.put_nowait(claim)
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                gone.put_nowait(claim.attempt)
                raise
            return Completed(reply=f"attempt {claim.attempt}")

        async with engine.working(turn):
            run = await engine.say(MAIN, "work")
            assert (await within(begun.get())).attempt == 1
            await engine.db.write(expire_leases)
            await engine.db.write(rescue_lost)
            assert (await within(begun.get())).attempt == 2
            assert await within(gone.get()) == 1
            may_end.set()
            assert (await engine.settled(run.id)).reply == "attempt 2"
            other = await engine.say(lane_key("other"), "and this?")
            assert (await engine.settled(other.id)).reply == "attempt 1", "the server still works"


async def test_a_turn_that_meets_an_unavailable_store_is_retried(sqlite_url: str) -> None:
    async def away(_: Claim) -> Outcome:
        raise Refusal(Code.STORAGE_UNAVAILABLE, "The database does not answer.")

    async with open_engine(sqlite_url, real=True) as engine, engine.working(away):
        run = await engine.say(MAIN, "work")
        await engine.until(lambda tx: has_error(tx, engine, run.id))
        put_off = await engine.run(run.id)
        assert (put_off.state, put_off.error_code) == ("queued", "storage_unavailable")


def has_error(tx: Tx, engine: Engine, run_id: str) -> bool:
    """True once an attempt of the run has failed."""
    run = run_by_id(tx, engine.access, run_id)
    return run is not None and run.error_code is not None


class LogWait(logging.Handler):
    """Waits for one log event."""

    def __init__(self, event: str) -> None:
        super().__init__()
        self.seen = asyncio.Event()
        self._event = event

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._event:
            self.seen.set()


async def fill_disk_while(worker: Commanded, held: Claim, path: Path) -> None:
    """End a turn while the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    full = path.with_name("carrel.db-wal").stat().st_size
    refused = LogWait("settle_failed")
    logging.getLogger("carrel.runs").addHandler(refused)
    resource.setrlimit(resource.RLIMIT_FSIZE, (full, before[1]))
    try:
        worker.end(held.id, Completed(reply="x" * 50_000))
        await within(refused.seen.wait())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        logging.getLogger("carrel.runs").removeHandler(refused)


@requirement("P.engine.two", "S1.x.claim.race")
async def test_two_servers_never_work_on_one_lane_at_once(postgres_url: str) -> None:
    async with open_engine(postgres_url, real=True) as one, open_engine(postgres_url, real=True) as two:
        busy: dict[str, str] = {}
        worked: list[str] = []

        def handler(name: str) -> object:
            async def turn(held: Claim) -> Outcome:
                assert held.key not in busy, "two runs of one lane at once"
                busy[held.key] = name
                await asyncio.sleep(0)
                worked.append(held.id)
                del busy[held.key]
                return Completed(reply=name)

            return turn

        async with (
            one.working(handler("one"), concurrency=4, worker="one"),  # type: ignore[arg-type]
            two.working(handler("two"), concurrency=4, worker="two"),  # type: ignore[arg-type]
        ):
            said = await asyncio.gather(*((one, two)[n % 2].say(lane_key(f"l{n % 5}"), str(n)) for n in range(60)))
            ended = [await one.settled(run.id) for run in said]
        assert {run.state for run in ended} == {"completed"}
        assert sorted(worked) == sorted(run.id for run in said)
        by_lane: dict[str, list[int]] = {}
        for run_id in worked:
            run = next(run for run in ended if run.id == run_id)
            by_lane.setdefault(run.key, []).append(run.seq)
        assert all(order == sorted(order) for order in by_lane.values())


SLEEPER = """
import asyncio, sys
from carrel.kernel.settings import RunsSettings, Settings
from carrel.runs import Completed, Dispatcher
from carrel.storage import open_database

async def turn(held):
    print("begun", held.id, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return Completed(reply="from the sleeper")

async def main():
    db = open_database(sys.argv[1])
    dispatcher = Dispatcher(db, turn, Settings(runs=RunsSettings(lease_seconds=1, concurrency=1)), "sleeper")
    await dispatcher.serve()

asyncio.run(main())
"""


@requirement("S0.x.claim", "P.engine.two")
async def test_a_suspended_server_that_continues_writes_nothing_for_a_run_it_lost(postgres_url: str) -> None:
    async with open_engine(postgres_url, real=True) as engine:
        run = await engine.say(MAIN, "work")
        sleeper = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SLEEPER, postgres_url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert sleeper.stdout is not None
        assert sleeper.stdin is not None
        try:
            assert (await within(sleeper.stdout.readline())).decode().split() == ["begun", run.id]
            os.kill(sleeper.pid, signal.SIGSTOP)
            # Here a minute has passed since, so that its lease is over.
            async with open_engine(postgres_url, clock=FakeClock(engine.clock.now_ms() + 60_000)) as later:
                assert await later.rescue() == 1
                held = await later.take_one()
            assert (held.id, held.attempt) == (run.id, 2)
            sleeper.stdin.write(b"\n")
            await sleeper.stdin.drain()
            following = await engine.say(lane_key("for-the-sleeper"), "next")
            os.kill(sleeper.pid, signal.SIGCONT)
            # Once it starts another turn, it has continued and ended its first.
            assert (await within(sleeper.stdout.readline())).decode().split() == ["begun", following.id]
            sleeper.stdin.write(b"\n")
            await sleeper.stdin.drain()
            assert (await engine.settled(following.id)).reply == "from the sleeper"
            assert (await engine.run(run.id)).state == "running"
            await engine.end(held, Completed(reply="ours"))
            ended = await engine.settled(run.id)
            assert (ended.reply, ended.attempt) == ("ours", 2)
        finally:
            sleeper.kill()
            await sleeper.wait()


class Counting(WrappedDatabase):
    """A store that counts how often it is used, and how many uses are under way."""

    used = 0
    under_way = 0

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self._count(super().read(work))

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await self._count(super().write(work))

    async def _count(self, use: Awaitable[T]) -> T:
        self.used += 1
        self.under_way += 1
        try:
            return await use
        finally:
            self.under_way -= 1


async def looks(engine: Engine, elapsing: Elapsing) -> int:
    """Return how often a dispatcher with nothing to do uses the store in a hundred seconds."""
    db = engine.db
    store = engine.db = Counting(db)

    async def until_unused() -> None:
        """Let a slow look end within its second: otherwise the seconds it takes would not be looked at."""
        await db.write(lambda _: None)
        while store.under_way:
            await db.write(lambda _: None)

    async with engine.working(Commanded().turn):
        await elapsing.pass_by(100, until_unused)
    engine.db = db
    return store.used


@requirement("S0.x.backoff.own")
async def test_a_run_that_waits_for_its_retry_makes_nobody_look_more_often(engine: Engine, elapsing: Elapsing) -> None:
    idle = await looks(engine, elapsing)
    await engine.say(MAIN, "hello")
    later = Failed(code="http_429", message="slow down", retryable=True, retry_after_seconds=200)
    await engine.end(await engine.take_one(), later)
    # Three duties look every five seconds. To look every second would be eighty looks more; a few are left for the
    # seconds that really pass.
    assert await looks(engine, elapsing) <= idle + 20
    assert 40 <= idle <= 80
    assert await engine.db.read(next_due) is not None
