"""Schedules on either store: windows that come, are missed, fail, and end. The clock stands still until it is moved."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar, cast

import pytest
from msgspec import json

from carrel.kernel import Code, Refusal, iso, parse_iso
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.kernel.settings import RunsSettings
from carrel.modes import (
    NewSchedule,
    Schedule,
    ScheduleChange,
    Schedules,
    change_schedule,
    find_schedule,
    fire_now,
    make_schedule,
    remove_schedule,
    schedule_shape,
)
from carrel.modes.schedules.model import SCHEDULES
from carrel.runs import Claim, Failed, NeedsInput, Rules, Run, RunFilter, remove_lane, retire_agent, runs_newest_first
from carrel.runs.model import Cancelled
from carrel.sessions import lane_of
from carrel.storage import Database, Tx, open_database
from tests.harness.engine import DONE, MAIN, Engine, FakeClock, engine_on, open_engine, within
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio
T = TypeVar("T")
NOON = parse_iso("2026-06-01T12:00:30Z")
HOUR_MS = 3_600_000
FAILED = Failed(code="broken", message="It broke.")


class Crash(Exception):
    """The server is gone."""


class Dying:
    """A store whose server dies with every write, before it is committed or right after."""

    def __init__(self, db: Database, *, after: bool, error: Exception | None = None) -> None:
        self.bell, self.read = db.bell, db.read
        self._db = db
        self._after = after
        self._error = error or Crash()

    async def write(self, work: Callable[[Tx], T]) -> T:
        def dying(tx: Tx) -> T:
            done = work(tx)
            if not self._after:
                raise self._error
            return done

        await self._db.write(dying)
        raise self._error


class Desk:
    """An engine with schedules, and the verbs by which tests move them through time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.schedules = Schedules(engine.db, engine.rules)

    async def make(self, cron: str = "0 * * * *", session: str = "main", **more: Any) -> Schedule:
        """Make a schedule that says `report`."""
        new = NewSchedule(session=session, type="message", message="report", cron=cron, **more)
        return await self.engine.db.write(lambda tx: make_schedule(tx, self.engine.access, new))

    async def change(self, made: Schedule, **wanted: Any) -> Schedule:
        """Change a schedule."""
        change = ScheduleChange(**wanted)
        return await self.engine.db.write(lambda tx: change_schedule(tx, self.engine.access, made.id, change))

    async def run_now(self, made: Schedule) -> Run:
        """Have a schedule fire by hand."""
        access, rules = self.engine.access, self.engine.rules
        return (await self.engine.db.write(lambda tx: fire_now(tx, access, made.id, rules)))[1]

    async def now(self, made: Schedule) -> dict[str, Any]:
        """The schedule as people see it now."""
        access = self.engine.access
        shape = await self.engine.db.read(lambda tx: schedule_shape(tx, find_schedule(tx, access, made.id)))
        shown: dict[str, Any] = json.decode(json.encode(shape))
        return shown

    async def at(self, moment: str) -> None:
        """Move the clock to a time of this day and do whatever is to be done then."""
        clock = self.engine.clock
        assert isinstance(clock, FakeClock)
        clock.advance((parse_iso(f"2026-06-01T{moment}Z") - clock.now_ms()) / 1000)
        await self.settle()

    async def settle(self) -> float:
        """Do whatever is to be done now; how long nothing is then."""
        while not (seconds := await self.schedules.round()):
            pass
        return seconds

    async def runs(self) -> list[Run]:
        """Every run of a schedule, the oldest first."""
        wanted = RunFilter(provenance_kind="cron")
        found = await self.engine.db.read(
            lambda tx: runs_newest_first(tx, self.engine.access, wanted, before=None, limit=100)
        )
        return found[::-1]

    async def work(self, outcome: Any = DONE) -> Claim:
        """Let the one due run end so, and its schedule see it."""
        held = await self.engine.take_one()
        await self.engine.end(held, outcome)
        await self.settle()
        return held

    async def told(self, name: str) -> list[dict[str, Any]]:
        """What the feed holds under a name, settled or not."""
        rows = await self.engine.db.read(
            lambda tx: tx.all("SELECT body FROM events WHERE name = :name ORDER BY seq", name=name)
        )
        return [json.decode(row[0]) for row in rows]


@pytest.fixture
async def desk(store_url: str) -> AsyncIterator[Desk]:
    async with open_engine(store_url, clock=FakeClock(NOON)) as engine:
        yield Desk(engine)


async def test_a_window_delivers_its_message_once_and_moves_on(desk: Desk) -> None:
    made = await desk.make()
    assert (await desk.now(made))["nextAt"] == "2026-06-01T13:00:00.000Z"
    await desk.at("12:59:59")
    assert await desk.runs() == []
    await desk.at("13:00:00")
    await desk.settle()
    (run,) = await desk.runs()
    assert (run.text, run.key, run.source().kind, run.source().actor) == ("report", str(MAIN), "cron", made.id)
    shown = await desk.now(made)
    assert (shown["nextAt"], shown["lastAt"]) == ("2026-06-01T14:00:00.000Z", "2026-06-01T13:00:00.000Z")
    assert (shown["lastStatus"], shown["executionCount"], shown["lastRunId"]) == ("queued", 1, run.id)
    (fired,) = await desk.told("schedule.fired")
    assert (fired["runId"], fired["schedule"]["id"]) == (run.id, made.id)
    held = await desk.engine.take_one()
    assert (await desk.now(made))["lastStatus"] == "running"
    await desk.engine.end(held)
    await desk.settle()
    assert (await desk.now(made))["lastStatus"] == "completed"
    await desk.at("14:00:00")
    assert len(await desk.runs()) == 2


@requirement("S3.x.schedule.missed")
async def test_windows_that_nobody_was_there_for_become_one(desk: Desk) -> None:
    made = await desk.make("*/5 * * * *")
    await desk.at("17:32:10")
    assert len(await desk.runs()) == 1
    shown = await desk.now(made)
    assert (shown["nextAt"], shown["executionCount"]) == ("2026-06-01T17:35:00.000Z", 1)


@requirement("S3.x.schedule.missed")
async def test_windows_that_come_while_a_run_works_become_one_behind_it(desk: Desk) -> None:
    made = await desk.make("* * * * *")
    await desk.at("12:01:00")
    (held,) = await desk.engine.take(lease_ms=HOUR_MS)
    for moment in ("12:02:00", "12:03:00", "12:04:30"):
        await desk.at(moment)
    assert len(await desk.runs()) == 1
    await desk.engine.end(held)
    await desk.settle()
    assert len(await desk.runs()) == 2
    assert (await desk.now(made))["nextAt"] == "2026-06-01T12:05:00.000Z"


@requirement("S3.x.schedule.missed")
async def test_a_failed_window_is_tried_again_after_one_five_and_fifteen_minutes(desk: Desk) -> None:
    made = await desk.make()
    await desk.at("13:00:00")
    retries = []
    for moment in ("13:02:00", "13:08:00", "13:24:00"):
        await desk.work(FAILED)
        retries.append((await desk.now(made))["retryAt"])
        await desk.at(moment)
    assert retries == [f"2026-06-01T13:{minute}:00.000Z" for minute in ("01", "07", "23")]
    await desk.work(FAILED)
    shown = await desk.now(made)
    assert (shown["retryAt"], shown["lastStatus"], shown["lastError"]) == (None, "failed", "It broke.")
    assert (shown["executionCount"], shown["nextAt"]) == (1, "2026-06-01T14:00:00.000Z")
    await desk.at("13:59:59")
    assert len(await desk.runs()) == 4
    await desk.at("14:00:00")
    await desk.work(FAILED)
    shown = await desk.now(made)
    assert (shown["retryAt"], shown["executionCount"]) == ("2026-06-01T14:01:00.000Z", 2)


@requirement("S3.x.schedule.missed")
async def test_no_retry_goes_past_the_next_window(desk: Desk) -> None:
    made = await desk.make("*/5 * * * *")
    await desk.at("12:05:00")
    await desk.work(FAILED)
    await desk.at("12:06:00")
    await desk.work(FAILED)
    shown = await desk.now(made)
    assert (shown["retryAt"], shown["nextAt"]) == (None, "2026-06-01T12:10:00.000Z")
    await desk.at("12:10:00")
    assert ((await desk.now(made))["executionCount"], len(await desk.runs())) == (2, 3)
    # Nobody was there at the moment of the retry, and by now the next window is here: one run, not two.
    await desk.work(FAILED)
    await desk.at("12:16:00")
    assert ((await desk.now(made))["executionCount"], len(await desk.runs())) == (3, 4)


async def test_a_window_that_is_cancelled_is_not_tried_again(desk: Desk) -> None:
    made = await desk.make()
    await desk.at("13:00:00")
    await desk.work(Cancelled(reason="user_cancelled"))
    shown = await desk.now(made)
    assert (shown["lastStatus"], shown["retryAt"]) == ("cancelled", None)


async def test_a_run_that_waits_for_a_person_keeps_no_window_from_coming(desk: Desk) -> None:
    made = await desk.make()
    await desk.at("13:00:00")
    await desk.work(NeedsInput(question="Which one?"))
    assert (await desk.now(made))["lastStatus"] == "waiting"
    await desk.at("14:00:00")
    assert len(await desk.runs()) == 2
    assert (await desk.now(made))["lastStatus"] == "queued"


async def test_a_message_that_its_lane_refuses_is_a_failed_window(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(lane_queue_max=1))
    async with open_engine(store_url, clock=FakeClock(NOON), rules=rules) as engine:
        desk = Desk(engine)
        made = await desk.make()
        await engine.say(MAIN, "one")
        (held,) = await engine.take(lease_ms=2 * HOUR_MS)
        await engine.say(MAIN, "two")
        await desk.at("13:00:00")
        shown = await desk.now(made)
        assert (shown["lastStatus"], shown["retryAt"]) == ("failed", "2026-06-01T13:01:00.000Z")
        assert "is full" in shown["lastError"]
        assert await desk.told("schedule.fired") == []
        await engine.end(held)
        await engine.end(await engine.take_one())
        await desk.at("13:01:00")
        assert len(await desk.runs()) == 1


async def test_after_its_last_execution_a_schedule_is_disabled_and_the_feed_says_so(desk: Desk) -> None:
    made = await desk.make("* * * * *", max_executions=2)
    await desk.at("12:01:00")
    await desk.work()
    await desk.at("12:02:00")
    shown = await desk.now(made)
    assert (shown["enabled"], shown["nextAt"], shown["executionCount"]) == (True, None, 2)
    await desk.work(FAILED)
    shown = await desk.now(made)
    # The next window would come in a minute: there is no room for a retry.
    assert (shown["enabled"], shown["disabledReason"], shown["nextAt"]) == (False, "exhausted", None)
    (told,) = await desk.told("schedule.disabled")
    assert (told["schedule"]["id"], told["schedule"]["disabledReason"]) == (made.id, "exhausted")
    await desk.at("12:30:00")
    assert len(await desk.runs()) == 2
    with pytest.raises(Refusal) as refused:
        await desk.change(made, enabled=True)
    assert refused.value.code is Code.LIMIT_REACHED
    with pytest.raises(Refusal) as refused:
        await desk.run_now(made)
    assert refused.value.code is Code.LIMIT_REACHED
    assert (await desk.change(made, enabled=True, max_executions=3)).next_at == parse_iso("2026-06-01T12:31:00Z")


async def test_the_last_execution_is_tried_again_too(desk: Desk) -> None:
    made = await desk.make(max_executions=1)
    await desk.at("13:00:00")
    await desk.work(FAILED)
    assert (await desk.now(made))["enabled"]
    await desk.at("13:01:00")
    await desk.work()
    shown = await desk.now(made)
    assert (shown["enabled"], shown["disabledReason"], shown["lastStatus"]) == (False, "exhausted", "completed")


@requirement("S3.x.schedule.missed")
async def test_a_schedule_whose_session_is_gone_is_disabled_in_sight(desk: Desk) -> None:
    made = await desk.make(session="agent:main:web:a-chat-of-mine")
    isolated = await desk.make(session="agent:main:web:a-chat-of-mine", isolated=True)
    access = desk.engine.access
    lane = await desk.engine.db.read(lambda tx: lane_of(tx, access, made.session_key))
    assert lane is not None
    await desk.engine.db.write(lambda tx: remove_lane(tx, access, lane))
    await desk.at("13:00:00")
    assert await desk.runs() == []
    for one in (made, isolated):
        shown = await desk.now(one)
        assert (shown["enabled"], shown["disabledReason"], shown["nextAt"]) == (False, "session_deleted", None)
    told = await desk.told("schedule.disabled")
    assert {one["schedule"]["disabledReason"] for one in told} == {"session_deleted"}
    assert len(told) == 2
    assert await desk.engine.db.read(lambda tx: lane_of(tx, access, made.session_key)) is None


@requirement("S3.x.schedule.missed")
async def test_a_schedule_whose_agent_was_sent_home_is_disabled_in_sight(desk: Desk) -> None:
    await desk.engine.make_agent("clerk")
    made = await desk.make(session="agent:clerk:main")
    await desk.engine.db.write(lambda tx: retire_agent(tx, desk.engine.access, "clerk"))
    await desk.at("13:00:00")
    assert (await desk.now(made))["disabledReason"] == "agent_disabled"
    assert await desk.runs() == []


async def test_a_run_that_went_with_its_lane_counts_as_cancelled(desk: Desk) -> None:
    made = await desk.make(isolated=True)
    await desk.at("13:00:00")
    access = desk.engine.access
    lane = await desk.engine.db.read(lambda tx: lane_of(tx, access, made.lane_key))
    assert lane is not None
    await desk.engine.db.write(lambda tx: remove_lane(tx, access, lane))
    await desk.settle()
    assert (await desk.now(made))["lastStatus"] == "cancelled"
    await desk.at("14:00:00")
    assert [run.key for run in await desk.runs()] == [f"agent:main:cron:{made.id}"]


async def test_by_hand_it_fires_at_once_and_its_windows_stay(desk: Desk) -> None:
    made = await desk.make(enabled=False)
    assert (await desk.now(made))["nextAt"] is None
    first = await desk.run_now(made)
    assert first.text == "report"
    await desk.work(FAILED)
    shown = await desk.now(made)
    assert (shown["lastStatus"], shown["retryAt"], shown["executionCount"], shown["enabled"]) == (
        "failed",
        None,
        1,
        False,
    )
    await desk.change(made, enabled=True)
    await desk.run_now(made)
    assert (await desk.now(made))["nextAt"] == "2026-06-01T13:00:00.000Z"
    await desk.work()
    await desk.at("13:00:00")
    assert (await desk.now(made))["executionCount"] == 3


async def test_a_run_by_hand_takes_the_place_of_a_retry(desk: Desk) -> None:
    made = await desk.make()
    await desk.at("13:00:00")
    await desk.work(FAILED)
    assert (await desk.now(made))["retryAt"]
    await desk.run_now(made)
    await desk.work()
    await desk.at("13:30:00")
    assert len(await desk.runs()) == 2


async def test_a_change_counts_the_next_window_from_now(desk: Desk) -> None:
    made = await desk.make()
    assert iso((await desk.change(made, cron="*/10 * * * *")).next_at) == "2026-06-01T12:10:00.000Z"
    changed = await desk.change(made, cron="0 15 * * *", timezone="Europe/Berlin")
    assert iso(changed.next_at) == "2026-06-01T13:00:00.000Z"
    assert (await desk.change(made, message="more")).next_at == changed.next_at
    assert (await desk.change(made, enabled=False)).next_at is None
    (told,) = await desk.told("schedule.disabled")
    assert told["schedule"]["disabledReason"] == "requested"
    await desk.at("20:00:00")
    assert await desk.runs() == []
    assert iso((await desk.change(made, enabled=True)).next_at) == "2026-06-02T13:00:00.000Z"
    assert (await desk.now(made))["disabledReason"] is None


async def test_a_schedule_may_move_to_a_lane_of_its_own_and_back(desk: Desk) -> None:
    made = await desk.make("* * * * *")
    await desk.change(made, isolated=True)
    await desk.at("12:01:00")
    await desk.work()
    await desk.change(made, isolated=False)
    await desk.at("12:02:00")
    assert [run.key for run in await desk.runs()] == [f"agent:main:cron:{made.id}", str(MAIN)]


async def test_less_executions_than_there_were_end_a_schedule(desk: Desk) -> None:
    made = await desk.make("* * * * *")
    await desk.at("12:01:00")
    await desk.work()
    assert (await desk.change(made, max_executions=1)).disabled_reason == "exhausted"


async def test_what_is_deleted_fires_no_more(desk: Desk) -> None:
    made = await desk.make()
    await desk.engine.db.write(lambda tx: remove_schedule(tx, desk.engine.access, made.id))
    await desk.at("13:00:00")
    assert await desk.runs() == []


async def test_a_time_zone_that_is_unknown_here_disables_in_sight_and_takes_no_other_with_it(desk: Desk) -> None:
    made, other = await desk.make(), await desk.make()
    await desk.engine.db.write(
        lambda tx: tx.run("UPDATE schedules SET timezone = 'Mars/Olympus' WHERE id = :id", id=made.id)
    )
    await desk.at("13:00:00")
    assert (await desk.now(made))["disabledReason"] == "unknown_timezone"
    assert (await desk.now(other))["lastStatus"] == "queued"


async def test_a_schedule_that_cannot_be_read_holds_up_no_other(desk: Desk) -> None:
    broken, other = await desk.make(), await desk.make()
    await desk.engine.db.write(lambda tx: tx.run("UPDATE schedules SET cron = '???' WHERE id = :id", id=broken.id))
    await desk.at("13:00:00")
    assert (await desk.now(other))["lastStatus"] == "queued"
    assert len(await desk.runs()) == 1


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
async def test_what_cannot_be_is_refused_with_its_field(
    desk: Desk, wanted: dict[str, Any], code: Code, field: str | None
) -> None:
    with pytest.raises(Refusal) as refused:
        await desk.make(**wanted)
    assert (refused.value.code, refused.value.field) == (code, field)


async def test_nobody_looks_before_something_is_due(desk: Desk) -> None:
    assert await desk.settle() == 60
    made = await desk.make()
    assert await desk.settle() == 60
    await desk.at("12:59:48")
    assert await desk.settle() == 12
    await desk.change(made, enabled=False)
    assert await desk.settle() == 60


async def test_every_change_wakes_those_who_wait(desk: Desk) -> None:
    bell = desk.engine.db.bell(SCHEDULES)
    made = await desk.make()
    for wanted in ({"cron": "* * * * *"}, {"enabled": False}, {"enabled": True}):
        version = bell.version
        await desk.change(made, **wanted)
        assert bell.version > version
    version = bell.version
    await desk.make()
    assert bell.version > version


async def test_at_work_it_is_woken_by_changes_and_by_the_ends_of_runs(store_url: str) -> None:
    async with open_engine(store_url, clock=FakeClock(NOON)) as engine:
        desk = Desk(engine)

        async def turn(held: Claim) -> Any:
            return FAILED

        async with asyncio.TaskGroup() as group, engine.working(turn):
            serving = group.create_task(desk.schedules.serve())
            made = await desk.make()
            await desk.run_now(made)
            await engine.until(SCHEDULES, lambda tx: find_schedule(tx, engine.access, made.id).last_status == "failed")
            serving.cancel()


async def test_of_two_servers_one_has_it_fire(postgres_url: str) -> None:
    clock = FakeClock(NOON)
    async with open_engine(postgres_url, clock=clock) as engine:
        second = await engine_on(open_database(postgres_url, clock=clock), clock, engine.rules)
        try:
            desk, beside = Desk(engine), Desk(second)
            # In one lane, and each in one of its own that is not there yet.
            made = [await desk.make("* * * * *", isolated=number % 2 == 0) for number in range(20)]
            clock.advance(60)
            await within(asyncio.gather(desk.settle(), beside.settle(), desk.settle(), beside.settle()))
            assert len(await desk.runs()) == len(made)
            assert {(await desk.now(one))["executionCount"] for one in made} == {1}
        finally:
            await second.db.close()


@pytest.mark.parametrize("after", [False, True])
async def test_a_server_that_dies_as_a_window_comes_neither_loses_nor_doubles_it(desk: Desk, after: bool) -> None:
    made = await desk.make()
    clock = desk.engine.clock
    assert isinstance(clock, FakeClock)
    clock.advance(3_600)
    dying = Schedules(cast(Database, Dying(desk.engine.db, after=after)), desk.engine.rules)
    await dying.round()
    assert len(await desk.runs()) == int(after)
    await desk.settle()
    assert len(await desk.runs()) == 1
    assert (await desk.now(made))["executionCount"] == 1


async def test_a_store_that_takes_nothing_is_asked_again_after_a_pause(desk: Desk) -> None:
    await desk.make()
    clock = desk.engine.clock
    assert isinstance(clock, FakeClock)
    clock.advance(3_600)
    away = Dying(desk.engine.db, after=False, error=Refusal(Code.STORAGE_UNAVAILABLE, "The disk is full."))
    assert await Schedules(cast(Database, away), desk.engine.rules).round() == SAFETY_POLL_SECONDS
    await desk.settle()
    assert len(await desk.runs()) == 1


async def test_an_account_has_its_own_schedules(desk: Desk) -> None:
    made = await desk.make()
    other = await desk.engine.another_account("other")
    for work in (find_schedule, remove_schedule):
        with pytest.raises(Refusal) as refused:
            await desk.engine.db.write(lambda tx, work=work: work(tx, other, made.id))  # type: ignore[misc]
        assert refused.value.code is Code.NOT_FOUND
