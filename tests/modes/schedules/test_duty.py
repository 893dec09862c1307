"""Schedules: windows that fire, are missed, fail and end. The clock stands still until a test moves it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
from msgspec import json

from carrel.kernel import Code, Refusal, iso, parse_iso
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.kernel.settings import RunsSettings
from carrel.modes import (
    NewSchedule,
    Schedule,
    ScheduleChange,
    change_schedule,
    find_schedule,
    fire_now,
    make_schedule,
    remove_schedule,
    schedule_duty,
    schedule_shape,
)
from carrel.modes.schedules.store import SCHEDULES
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Claim, Failed, NeedsInput, Rules, Run, remove_lane, retire_agent
from carrel.runs.model import Cancelled
from carrel.sessions import lane_of
from carrel.storage import Database, Tx, open_database
from tests.harness.engine import DONE, MAIN, Engine, FakeClock, engine_on, open_engine, within
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement

T = TypeVar("T")
NOON = parse_iso("2026-06-01T12:00:30Z")
HOUR_MS = 3_600_000
FAILED = Failed(code="broken", message="It broke.")


class Crash(Exception):
    """The server has crashed."""


class Dying(WrappedDatabase):
    """A store whose server crashes at every write, before the commit or right after."""

    def __init__(self, db: Database, *, after: bool, error: Exception | None = None) -> None:
        super().__init__(db)
        self._after = after
        self._error = error or Crash()

    async def write(self, work: Callable[[Tx], T]) -> T:
        def dying(tx: Tx) -> T:
            done = work(tx)
            if not self._after:
                raise self._error
            return done

        await super().write(dying)
        raise self._error


class Timeline:
    """An engine with schedules, and the steps by which tests move them through time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.schedules = schedule_duty(engine.db, engine.rules)

    async def make(self, cron: str = "0 * * * *", session: str = "main", **more: Any) -> Schedule:
        """Create a schedule with the message `report`."""
        new = NewSchedule(type="message", message="report", cron=cron, **more)
        return await self.engine.db.write(lambda tx: make_schedule(tx, self.engine.access, session, new))

    async def change(self, made: Schedule, **wanted: Any) -> Schedule:
        """Change a schedule."""
        change = ScheduleChange(**wanted)
        return await self.engine.db.write(lambda tx: change_schedule(tx, self.engine.access, made.id, change))

    async def run_now(self, made: Schedule) -> Run:
        """Fire a schedule by hand."""
        access, rules = self.engine.access, self.engine.rules
        return (await self.engine.db.write(lambda tx: fire_now(tx, access, made.id, rules)))[1]

    async def now(self, made: Schedule) -> dict[str, Any]:
        """Return the schedule as the API shows it."""
        access = self.engine.access
        shape = await self.engine.db.read(lambda tx: schedule_shape(tx, find_schedule(tx, access, made.id)))
        shown: dict[str, Any] = json.decode(json.encode(shape))
        return shown

    async def at(self, moment: str) -> None:
        """Move the clock to a time of this day and do what is due."""
        clock = self.engine.clock
        assert isinstance(clock, FakeClock)
        clock.advance((parse_iso(f"2026-06-01T{moment}Z") - clock.now_ms()) / 1000)
        await self.settle()

    async def settle(self) -> float:
        """Do what is due now; return how long to wait afterwards."""
        while not (seconds := await self.schedules.round()):
            pass
        return seconds

    async def runs(self) -> list[Run]:
        """Return the runs of a schedule, oldest first."""
        wanted = RunFilter(provenance_kind="cron")
        found = await self.engine.db.read(
            lambda tx: runs_newest_first(tx, self.engine.access, wanted, before=None, limit=100)
        )
        return found[::-1]

    async def work(self, outcome: Any = DONE) -> Claim:
        """End the one due run, and let its schedule follow it."""
        held = await self.engine.take_one()
        await self.engine.end(held, outcome)
        await self.settle()
        return held

    async def told(self, name: str) -> list[dict[str, Any]]:
        """Return the events of a name, settled or not."""
        rows = await self.engine.db.read(
            lambda tx: tx.all("SELECT body FROM events WHERE name = :name ORDER BY seq", name=name)
        )
        return [json.decode(row[0]) for row in rows]


@pytest.fixture
async def timeline(store_url: str) -> AsyncIterator[Timeline]:
    async with open_engine(store_url, clock=FakeClock(NOON)) as engine:
        yield Timeline(engine)


async def test_a_window_delivers_its_message_once(timeline: Timeline) -> None:
    made = await timeline.make()
    assert (await timeline.now(made))["nextAt"] == "2026-06-01T13:00:00.000Z"
    await timeline.at("12:59:59")
    assert await timeline.runs() == []
    await timeline.at("13:00:00")
    await timeline.settle()
    (run,) = await timeline.runs()
    assert (run.text, run.key, run.source().kind, run.source().actor) == ("report", str(MAIN), "cron", made.id)
    shown = await timeline.now(made)
    assert (shown["nextAt"], shown["lastAt"]) == ("2026-06-01T14:00:00.000Z", "2026-06-01T13:00:00.000Z")
    assert (shown["lastStatus"], shown["executionCount"], shown["lastRunId"]) == ("queued", 1, run.id)
    (fired,) = await timeline.told("schedule.fired")
    assert (fired["runId"], fired["schedule"]["id"]) == (run.id, made.id)
    held = await timeline.engine.take_one()
    assert (await timeline.now(made))["lastStatus"] == "running"
    await timeline.engine.end(held)
    await timeline.settle()
    assert (await timeline.now(made))["lastStatus"] == "completed"
    await timeline.at("14:00:00")
    assert len(await timeline.runs()) == 2


@requirement("S3.x.schedule.missed")
async def test_windows_missed_while_no_server_ran_become_one(timeline: Timeline) -> None:
    made = await timeline.make("*/5 * * * *")
    await timeline.at("17:32:10")
    assert len(await timeline.runs()) == 1
    shown = await timeline.now(made)
    assert (shown["nextAt"], shown["executionCount"]) == ("2026-06-01T17:35:00.000Z", 1)


@requirement("S3.x.schedule.missed")
async def test_windows_that_pass_during_a_run_become_one_after_it(timeline: Timeline) -> None:
    made = await timeline.make("* * * * *")
    await timeline.at("12:01:00")
    (held,) = await timeline.engine.take(lease_ms=HOUR_MS)
    for moment in ("12:02:00", "12:03:00", "12:04:30"):
        await timeline.at(moment)
    assert len(await timeline.runs()) == 1
    await timeline.engine.end(held)
    await timeline.settle()
    assert len(await timeline.runs()) == 2
    assert (await timeline.now(made))["nextAt"] == "2026-06-01T12:05:00.000Z"


@requirement("S3.x.schedule.missed")
async def test_a_failed_window_is_retried_after_one_five_and_fifteen_minutes(timeline: Timeline) -> None:
    made = await timeline.make()
    await timeline.at("13:00:00")
    retries = []
    for moment in ("13:02:00", "13:08:00", "13:24:00"):
        await timeline.work(FAILED)
        retries.append((await timeline.now(made))["retryAt"])
        await timeline.at(moment)
    assert retries == [f"2026-06-01T13:{minute}:00.000Z" for minute in ("01", "07", "23")]
    await timeline.work(FAILED)
    shown = await timeline.now(made)
    assert (shown["retryAt"], shown["lastStatus"], shown["lastError"]) == (None, "failed", "It broke.")
    assert (shown["executionCount"], shown["nextAt"]) == (1, "2026-06-01T14:00:00.000Z")
    await timeline.at("13:59:59")
    assert len(await timeline.runs()) == 4
    await timeline.at("14:00:00")
    await timeline.work(FAILED)
    shown = await timeline.now(made)
    assert (shown["retryAt"], shown["executionCount"]) == ("2026-06-01T14:01:00.000Z", 2)


@requirement("S3.x.schedule.missed")
async def test_no_retry_comes_after_the_next_window(timeline: Timeline) -> None:
    made = await timeline.make("*/5 * * * *")
    await timeline.at("12:05:00")
    await timeline.work(FAILED)
    await timeline.at("12:06:00")
    await timeline.work(FAILED)
    shown = await timeline.now(made)
    assert (shown["retryAt"], shown["nextAt"]) == (None, "2026-06-01T12:10:00.000Z")
    await timeline.at("12:10:00")
    assert ((await timeline.now(made))["executionCount"], len(await timeline.runs())) == (2, 3)
    # No server ran at the time of the retry, and the next window has come: one run, not two.
    await timeline.work(FAILED)
    await timeline.at("12:16:00")
    assert ((await timeline.now(made))["executionCount"], len(await timeline.runs())) == (3, 4)


async def test_a_cancelled_window_is_not_retried(timeline: Timeline) -> None:
    made = await timeline.make()
    await timeline.at("13:00:00")
    await timeline.work(Cancelled(reason="user_cancelled"))
    shown = await timeline.now(made)
    assert (shown["lastStatus"], shown["retryAt"]) == ("cancelled", None)


async def test_a_run_that_waits_for_a_person_does_not_block_the_next_window(timeline: Timeline) -> None:
    made = await timeline.make()
    await timeline.at("13:00:00")
    await timeline.work(NeedsInput(question="Which one?"))
    assert (await timeline.now(made))["lastStatus"] == "waiting"
    await timeline.at("14:00:00")
    assert len(await timeline.runs()) == 2
    assert (await timeline.now(made))["lastStatus"] == "queued"


async def test_a_message_that_its_lane_refuses_is_a_failed_window(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(lane_queue_max=1))
    async with open_engine(store_url, clock=FakeClock(NOON), rules=rules) as engine:
        timeline = Timeline(engine)
        made = await timeline.make()
        await engine.say(MAIN, "one")
        (held,) = await engine.take(lease_ms=2 * HOUR_MS)
        await engine.say(MAIN, "two")
        await timeline.at("13:00:00")
        shown = await timeline.now(made)
        assert (shown["lastStatus"], shown["retryAt"]) == ("failed", "2026-06-01T13:01:00.000Z")
        assert "is full" in shown["lastError"]
        assert await timeline.told("schedule.fired") == []
        await engine.end(held)
        await engine.end(await engine.take_one())
        await timeline.at("13:01:00")
        assert len(await timeline.runs()) == 1


async def test_a_schedule_is_disabled_with_an_event_after_its_last_execution(timeline: Timeline) -> None:
    made = await timeline.make("* * * * *", max_executions=2)
    await timeline.at("12:01:00")
    await timeline.work()
    await timeline.at("12:02:00")
    shown = await timeline.now(made)
    assert (shown["enabled"], shown["nextAt"], shown["executionCount"]) == (True, None, 2)
    await timeline.work(FAILED)
    shown = await timeline.now(made)
    # The next window would come in a minute, so there is no time for a retry.
    assert (shown["enabled"], shown["disabledReason"], shown["nextAt"]) == (False, "exhausted", None)
    (told,) = await timeline.told("schedule.disabled")
    assert (told["schedule"]["id"], told["schedule"]["disabledReason"]) == (made.id, "exhausted")
    await timeline.at("12:30:00")
    assert len(await timeline.runs()) == 2
    with pytest.raises(Refusal) as refused:
        await timeline.change(made, enabled=True)
    assert refused.value.code is Code.LIMIT_REACHED
    with pytest.raises(Refusal) as refused:
        await timeline.run_now(made)
    assert refused.value.code is Code.LIMIT_REACHED
    assert (await timeline.change(made, enabled=True, max_executions=3)).next_at == parse_iso("2026-06-01T12:31:00Z")


async def test_the_last_execution_is_retried_too(timeline: Timeline) -> None:
    made = await timeline.make(max_executions=1)
    await timeline.at("13:00:00")
    await timeline.work(FAILED)
    assert (await timeline.now(made))["enabled"]
    await timeline.at("13:01:00")
    await timeline.work()
    shown = await timeline.now(made)
    assert (shown["enabled"], shown["disabledReason"], shown["lastStatus"]) == (False, "exhausted", "completed")


@requirement("S3.x.schedule.missed")
async def test_a_schedule_whose_session_was_deleted_is_disabled_visibly(timeline: Timeline) -> None:
    made = await timeline.make(session="agent:main:web:a-chat-of-mine")
    isolated = await timeline.make(session="agent:main:web:a-chat-of-mine", isolated=True)
    access = timeline.engine.access
    lane = await timeline.engine.db.read(lambda tx: lane_of(tx, access, made.session_key))
    assert lane is not None
    await timeline.engine.db.write(lambda tx: remove_lane(tx, access, lane))
    await timeline.at("13:00:00")
    assert await timeline.runs() == []
    for one in (made, isolated):
        shown = await timeline.now(one)
        assert (shown["enabled"], shown["disabledReason"], shown["nextAt"]) == (False, "session_deleted", None)
    told = await timeline.told("schedule.disabled")
    assert {one["schedule"]["disabledReason"] for one in told} == {"session_deleted"}
    assert len(told) == 2
    assert await timeline.engine.db.read(lambda tx: lane_of(tx, access, made.session_key)) is None


@requirement("S3.x.schedule.missed")
async def test_a_schedule_whose_agent_was_disabled_is_disabled_visibly(timeline: Timeline) -> None:
    await timeline.engine.make_agent("clerk")
    made = await timeline.make(session="agent:clerk:main")
    await timeline.engine.db.write(lambda tx: retire_agent(tx, timeline.engine.access, "clerk"))
    await timeline.at("13:00:00")
    assert (await timeline.now(made))["disabledReason"] == "agent_disabled"
    assert await timeline.runs() == []


async def test_a_run_deleted_with_its_lane_counts_as_cancelled(timeline: Timeline) -> None:
    made = await timeline.make(isolated=True)
    await timeline.at("13:00:00")
    access = timeline.engine.access
    lane = await timeline.engine.db.read(lambda tx: lane_of(tx, access, made.lane_key))
    assert lane is not None
    await timeline.engine.db.write(lambda tx: remove_lane(tx, access, lane))
    await timeline.settle()
    assert (await timeline.now(made))["lastStatus"] == "cancelled"
    await timeline.at("14:00:00")
    assert [run.key for run in await timeline.runs()] == [f"agent:main:cron:{made.id}"]


async def test_firing_by_hand_does_not_move_the_windows(timeline: Timeline) -> None:
    made = await timeline.make(enabled=False)
    assert (await timeline.now(made))["nextAt"] is None
    first = await timeline.run_now(made)
    assert first.text == "report"
    await timeline.work(FAILED)
    shown = await timeline.now(made)
    assert (shown["lastStatus"], shown["retryAt"], shown["executionCount"], shown["enabled"]) == (
        "failed",
        None,
        1,
        False,
    )
    await timeline.change(made, enabled=True)
    await timeline.run_now(made)
    assert (await timeline.now(made))["nextAt"] == "2026-06-01T13:00:00.000Z"
    await timeline.work()
    await timeline.at("13:00:00")
    assert (await timeline.now(made))["executionCount"] == 3


async def test_firing_by_hand_replaces_a_pending_retry(timeline: Timeline) -> None:
    made = await timeline.make()
    await timeline.at("13:00:00")
    await timeline.work(FAILED)
    assert (await timeline.now(made))["retryAt"]
    await timeline.run_now(made)
    await timeline.work()
    await timeline.at("13:30:00")
    assert len(await timeline.runs()) == 2


async def test_a_change_sets_the_next_window_from_now(timeline: Timeline) -> None:
    made = await timeline.make()
    assert iso((await timeline.change(made, cron="*/10 * * * *")).next_at) == "2026-06-01T12:10:00.000Z"
    changed = await timeline.change(made, cron="0 15 * * *", timezone="Europe/Berlin")
    assert iso(changed.next_at) == "2026-06-01T13:00:00.000Z"
    assert (await timeline.change(made, message="more")).next_at == changed.next_at
    assert (await timeline.change(made, enabled=False)).next_at is None
    (told,) = await timeline.told("schedule.disabled")
    assert told["schedule"]["disabledReason"] == "requested"
    await timeline.at("20:00:00")
    assert await timeline.runs() == []
    assert iso((await timeline.change(made, enabled=True)).next_at) == "2026-06-02T13:00:00.000Z"
    assert (await timeline.now(made))["disabledReason"] is None


async def test_a_schedule_can_become_isolated_and_back(timeline: Timeline) -> None:
    made = await timeline.make("* * * * *")
    await timeline.change(made, isolated=True)
    await timeline.at("12:01:00")
    await timeline.work()
    await timeline.change(made, isolated=False)
    await timeline.at("12:02:00")
    assert [run.key for run in await timeline.runs()] == [f"agent:main:cron:{made.id}", str(MAIN)]


async def test_fewer_executions_than_there_were_disable_a_schedule(timeline: Timeline) -> None:
    made = await timeline.make("* * * * *")
    await timeline.at("12:01:00")
    await timeline.work()
    assert (await timeline.change(made, max_executions=1)).disabled_reason == "exhausted"


async def test_a_deleted_schedule_does_not_fire(timeline: Timeline) -> None:
    made = await timeline.make()
    await timeline.engine.db.write(lambda tx: remove_schedule(tx, timeline.engine.access, made.id))
    await timeline.at("13:00:00")
    assert await timeline.runs() == []


async def test_an_unknown_time_zone_disables_its_schedule_and_no_other(timeline: Timeline) -> None:
    made, other = await timeline.make(), await timeline.make()
    await timeline.engine.db.write(
        lambda tx: tx.run("UPDATE schedules SET timezone = 'Mars/Olympus' WHERE id = :id", id=made.id)
    )
    await timeline.at("13:00:00")
    assert (await timeline.now(made))["disabledReason"] == "unknown_timezone"
    assert (await timeline.now(other))["lastStatus"] == "queued"


async def test_a_schedule_that_cannot_be_read_delays_no_other(timeline: Timeline) -> None:
    broken, other = await timeline.make(), await timeline.make()
    await timeline.engine.db.write(lambda tx: tx.run("UPDATE schedules SET cron = '???' WHERE id = :id", id=broken.id))
    await timeline.at("13:00:00")
    assert (await timeline.now(other))["lastStatus"] == "queued"
    assert len(await timeline.runs()) == 1


@pytest.mark.parametrize(
    ("wanted", "code", "field"),
    [
        ({"cron": "61 * * * *"}, Code.INVALID_PARAMS, "cron"),
        ({"cron": "0 0 31 2 *"}, Code.INVALID_PARAMS, "cron"),
        ({"timezone": "Nowhere"}, Code.INVALID_PARAMS, "timezone"),
        ({"max_executions": 0}, Code.INVALID_PARAMS, "maxExecutions"),
        ({"max_executions": -2}, Code.INVALID_PARAMS, "maxExecutions"),
        ({"session": "agent:nobody:main"}, Code.NOT_FOUND, None),
    ],
)
async def test_invalid_values_are_refused_with_their_field(
    timeline: Timeline, wanted: dict[str, Any], code: Code, field: str | None
) -> None:
    with pytest.raises(Refusal) as refused:
        await timeline.make(**wanted)
    assert (refused.value.code, refused.value.field) == (code, field)


async def test_the_store_is_not_read_before_something_is_due(timeline: Timeline) -> None:
    assert await timeline.settle() == 60
    made = await timeline.make()
    assert await timeline.settle() == 60
    await timeline.at("12:59:48")
    assert await timeline.settle() == 12
    await timeline.change(made, enabled=False)
    assert await timeline.settle() == 60


async def test_every_change_wakes_the_duty(timeline: Timeline) -> None:
    bell = timeline.engine.db.bell(SCHEDULES.bell)
    made = await timeline.make()
    for wanted in ({"cron": "* * * * *"}, {"enabled": False}, {"enabled": True}):
        version = bell.version
        await timeline.change(made, **wanted)
        assert bell.version > version
    version = bell.version
    await timeline.make()
    assert bell.version > version


async def test_the_duty_is_woken_by_changes_and_by_ended_runs(store_url: str) -> None:
    async with open_engine(store_url, clock=FakeClock(NOON)) as engine:
        timeline = Timeline(engine)

        async def turn(held: Claim) -> Any:
            return FAILED

        async with asyncio.TaskGroup() as group, engine.working(turn):
            serving = group.create_task(timeline.schedules.serve())
            made = await timeline.make()
            await timeline.run_now(made)
            await engine.until(lambda tx: find_schedule(tx, engine.access, made.id).last_status == "failed")
            serving.cancel()


async def test_only_one_of_two_servers_fires(postgres_url: str) -> None:
    clock = FakeClock(NOON)
    async with open_engine(postgres_url, clock=clock) as engine:
        second = await engine_on(open_database(postgres_url, clock=clock), clock, engine.rules)
        try:
            timeline, beside = Timeline(engine), Timeline(second)
            # In one lane, and each in an isolated lane that does not exist yet.
            made = [await timeline.make("* * * * *", isolated=number % 2 == 0) for number in range(20)]
            clock.advance(60)
            await within(asyncio.gather(timeline.settle(), beside.settle(), timeline.settle(), beside.settle()))
            assert len(await timeline.runs()) == len(made)
            assert {(await timeline.now(one))["executionCount"] for one in made} == {1}
        finally:
            await second.db.close()


@pytest.mark.parametrize("after", [False, True])
async def test_a_server_that_dies_in_a_window_neither_loses_nor_repeats_it(timeline: Timeline, after: bool) -> None:
    made = await timeline.make()
    clock = timeline.engine.clock
    assert isinstance(clock, FakeClock)
    clock.advance(3_600)
    dying = schedule_duty(Dying(timeline.engine.db, after=after), timeline.engine.rules)
    await dying.round()
    assert len(await timeline.runs()) == int(after)
    await timeline.settle()
    assert len(await timeline.runs()) == 1
    assert (await timeline.now(made))["executionCount"] == 1


async def test_a_failing_store_is_tried_again_after_a_pause(timeline: Timeline) -> None:
    await timeline.make()
    clock = timeline.engine.clock
    assert isinstance(clock, FakeClock)
    clock.advance(3_600)
    away = Dying(timeline.engine.db, after=False, error=Refusal(Code.STORAGE_UNAVAILABLE, "The disk is full."))
    assert await schedule_duty(away, timeline.engine.rules).round() == SAFETY_POLL_SECONDS
    await timeline.settle()
    assert len(await timeline.runs()) == 1


async def test_an_account_has_its_own_schedules(timeline: Timeline) -> None:
    made = await timeline.make()
    other = await timeline.engine.another_account("other")
    for work in (find_schedule, remove_schedule):
        with pytest.raises(Refusal) as refused:
            await timeline.engine.db.write(lambda tx, work=work: work(tx, other, made.id))  # type: ignore[misc]
        assert refused.value.code is Code.NOT_FOUND
