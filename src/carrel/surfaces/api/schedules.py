"""Schedules: messages sent to sessions, and goals and tasks worked on, at regular times."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs

from carrel.kernel import PEOPLE, Access, not_found
from carrel.kernel.limits import CLIENT_ID_CHARS_MAX, CRON_CHARS_MAX, TIMEZONE_CHARS_MAX
from carrel.modes import (
    NewSchedule,
    Schedule,
    ScheduleChange,
    ScheduleShape,
    ScheduleType,
    change_schedule,
    find_schedule,
    fire_now,
    make_schedule,
    remove_schedule,
    schedule_shape,
    schedules_of,
)
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.fields import Cursor, Executions, Text
from carrel.surfaces.api.session_ids import SessionId, refused_by_name, required

CronText = Annotated[str, Meta(min_length=1, max_length=CRON_CHARS_MAX)]
Timezone = Annotated[str, Meta(min_length=1, max_length=TIMEZONE_CHARS_MAX)]


class ScheduleBody(In, frozen=True, kw_only=True):
    """A new schedule: which message, goal or task, in which session, and when."""

    type: ScheduleType
    target_id: Annotated[str, Meta(max_length=CLIENT_ID_CHARS_MAX)] | None = None
    message: Text | None = None
    session_id: SessionId | None = None
    cron: CronText
    timezone: Timezone = "UTC"
    isolated: bool = False
    enabled: bool = True
    max_executions: Executions = -1


class SchedulePatch(In, frozen=True, kw_only=True):
    """Changes of a schedule; fields left out stay as they are. A session that is named must be the schedule's own."""

    session_id: SessionId | None = None
    message: Text | UnsetType = UNSET
    cron: CronText | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    isolated: bool | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    max_executions: Executions | UnsetType = UNSET


class SchedulesQuery(In, frozen=True, kw_only=True):
    """Which session's schedules, and which page."""

    session_id: SessionId | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class OfSession(In, frozen=True, kw_only=True):
    """The session that the schedule must belong to, if one is named."""

    session_id: SessionId | None = None


class ScheduleList(Out, frozen=True, kw_only=True):
    """A page of a session's schedules, oldest first."""

    schedules: list[ScheduleShape]
    next_cursor: str | None


class OneSchedule(Out, frozen=True, kw_only=True):
    """One schedule."""

    schedule: ScheduleShape


class FiredSchedule(Out, frozen=True, kw_only=True):
    """A schedule that has just fired, and the run it started."""

    schedule: ScheduleShape
    run_id: str


@endpoint("GET", "/api/schedules", answers={200: ScheduleList}, query=SchedulesQuery)
async def list_schedules(call: Call[None, SchedulesQuery]) -> ScheduleList:
    """List the schedules of a session, oldest first."""
    limit = clamp(call.query.limit)
    position = read_cursor(call.query.cursor, tuple[str])
    reference = required(call.query.session_id)

    def work(tx: Tx, access: Access) -> ScheduleList:
        key = _session(tx, access, reference)
        found = schedules_of(tx, access, key, after=position[0] if position else "", limit=limit + 1)
        page, following = cut(found, limit, lambda schedule: (schedule.id,))
        return ScheduleList(schedules=[schedule_shape(tx, one) for one in page], next_cursor=following)

    return await call.read(work)


@endpoint("POST", "/api/schedules", answers={201: OneSchedule}, who=PEOPLE, body=ScheduleBody, creates=True)
async def create_schedule(call: Call[ScheduleBody, NoQuery]) -> OneSchedule:
    """Schedule a message, or work on a goal or task, in a session by a cron expression."""
    body = call.body
    reference = required(body.session_id)

    def work(tx: Tx, access: Access) -> OneSchedule:
        new = NewSchedule(
            session=_session(tx, access, reference),
            type=body.type,
            message=body.message or "",
            target_id=body.target_id,
            cron=body.cron,
            timezone=body.timezone,
            isolated=body.isolated,
            enabled=body.enabled,
            max_executions=body.max_executions,
        )
        return call.promise(tx, OneSchedule(schedule=schedule_shape(tx, make_schedule(tx, access, new))))

    return await call.write(work)


@endpoint("GET", "/api/schedules/{id}", answers={200: OneSchedule}, query=OfSession)
async def show_schedule(call: Call[None, OfSession]) -> OneSchedule:
    """Get a schedule: when it fires next, and how its last run ended."""

    def work(tx: Tx, access: Access) -> OneSchedule:
        return OneSchedule(schedule=schedule_shape(tx, _found(tx, access, call.path("id"), call.query.session_id)))

    return await call.read(work)


@endpoint("PATCH", "/api/schedules/{id}", answers={200: OneSchedule}, who=PEOPLE, body=SchedulePatch)
async def patch_schedule(call: Call[SchedulePatch, NoQuery]) -> OneSchedule:
    """Change a schedule; a new expression or time zone, and enabling it, compute the next time from now."""
    changes = structs.asdict(call.body)
    reference = changes.pop("session_id")

    def work(tx: Tx, access: Access) -> OneSchedule:
        found = _found(tx, access, call.path("id"), reference)
        return OneSchedule(
            schedule=schedule_shape(tx, change_schedule(tx, access, found.id, ScheduleChange(**changes)))
        )

    return await call.write(work)


@endpoint("DELETE", "/api/schedules/{id}", answers={204: None}, who=PEOPLE, query=OfSession)
async def delete_schedule(call: Call[None, OfSession]) -> None:
    """Delete a schedule; the messages it sent stay."""

    def work(tx: Tx, access: Access) -> None:
        remove_schedule(tx, access, _found(tx, access, call.path("id"), call.query.session_id).id)

    await call.write(work)


@endpoint("POST", "/api/schedules/{id}/run", answers={202: FiredSchedule}, who=PEOPLE, query=OfSession, creates=True)
async def run_schedule(call: Call[None, OfSession]) -> FiredSchedule:
    """Fire a schedule now; its next time stays as it was."""
    call.house.refuse_when_draining()

    def work(tx: Tx, access: Access) -> FiredSchedule:
        found = _found(tx, access, call.path("id"), call.query.session_id)
        schedule, run = fire_now(tx, access, found.id, call.house.rules)
        return call.promise(tx, FiredSchedule(schedule=schedule_shape(tx, schedule), run_id=run.id))

    return await call.write(work)


def _session(tx: Tx, access: Access, reference: str) -> str:
    """Return the key of the session that is meant; `current` is that of the agent or run whose token is used."""
    with refused_by_name():
        return str(find_session(tx, access, reference).key)


def _found(tx: Tx, access: Access, schedule_id: str, reference: str | None) -> Schedule:
    found = find_schedule(tx, access, schedule_id)
    if reference is not None and _session(tx, access, reference) != found.key:
        raise not_found("schedule")
    return found
