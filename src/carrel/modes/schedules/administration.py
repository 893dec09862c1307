"""Creating, changing, deleting and showing schedules."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs

from carrel.goals import find_goal
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import (
    Access,
    Code,
    Input,
    Message,
    Provenance,
    Refusal,
    SessionKey,
    check_message,
    invalid,
    iso,
    limits,
    not_found,
)
from carrel.kernel.fields import Text, checked
from carrel.modes.lanes import ensure_lane
from carrel.modes.schedules import store
from carrel.modes.schedules.model import (
    OPEN_STATUSES,
    UNLIMITED,
    Schedule,
    ScheduleFields,
    ScheduleType,
    disabled,
    enabled,
)
from carrel.runs import run_by_id
from carrel.sessions import find_session, lane_of
from carrel.storage import Tx
from carrel.visibility import may_see
from carrel.work import readable_task

CronText = Annotated[str, Meta(min_length=1, max_length=limits.CRON_CHARS_MAX)]
Timezone = Annotated[str, Meta(min_length=1, max_length=limits.TIMEZONE_CHARS_MAX)]
# This room checks it and words the refusal; here it is only described.
Executions = Annotated[int, checked(minimum=-1, maximum=limits.SCHEDULE_EXECUTIONS_MAX, **{"not": {"const": 0}})]


class NewSchedule(Input, frozen=True, kw_only=True):
    """A new schedule: which message, goal or task, in which session, and when."""

    type: ScheduleType
    target_id: Annotated[str, Meta(max_length=limits.CLIENT_ID_CHARS_MAX)] | None = None
    message: Text | None = None
    cron: CronText
    timezone: Timezone = "UTC"
    isolated: bool = False
    enabled: bool = True
    max_executions: Executions = UNLIMITED


class ScheduleChange(Input, frozen=True, kw_only=True):
    """Changes of a schedule; fields left out stay as they are. A session that is named must be the schedule's own."""

    message: Text | UnsetType = UNSET
    cron: CronText | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    isolated: bool | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    max_executions: Executions | UnsetType = UNSET


class ScheduleShape(ScheduleFields[str | None], frozen=True, kw_only=True):
    """A schedule as the API and the feed show it."""

    message: str | None
    session_id: str
    session_key: str
    agent_id: str
    isolated: bool
    enabled: bool
    last_run_id: str | None


def schedule_shape(tx: Tx, schedule: Schedule) -> ScheduleShape:
    """Return a schedule as it is shown: with the state of its run until the run has ended."""
    run = None
    if schedule.run_id is not None and schedule.last_status in OPEN_STATUSES:
        run = run_by_id(tx, schedule.access, schedule.run_id)
    key = schedule.session_key
    return ScheduleShape.of(
        schedule,
        message=schedule.message or None,
        session_id=key.conversation,
        session_key=schedule.key,
        agent_id=key.agent,
        isolated=bool(schedule.isolated),
        enabled=bool(schedule.enabled),
        next_at=None if schedule.exhausted else iso(schedule.next_at),
        last_status=schedule.last_status if run is None else run.state,
        last_run_id=schedule.run_id,
    )


def make_schedule(tx: Tx, access: Access, session: str, new: NewSchedule) -> Schedule:
    """Create a schedule of a session, and the session if that does not exist."""
    found = find_session(tx, access, session)
    _require_target(tx, access, new, found.key)
    schedule = Schedule(
        account_id=access.account_id,
        id=tx.new_id("sch"),
        key=str(found.key),
        type=new.type,
        message=new.message or "",
        target_id=new.target_id,
        cron=new.cron,
        timezone=new.timezone,
        isolated=int(new.isolated),
        enabled=0,
        disabled_reason="requested",
        max_executions=new.max_executions,
        execution_count=0,
        next_at=None,
        retry_at=None,
        last_at=None,
        last_status=None,
        last_error=None,
        made_by=access.actor_id,
        created_at=tx.now,
        updated_at=tx.now,
        space_ids=access.space_ids,
        behalf=access.speaks_for,
    )
    _check(schedule)
    first = _require_window(schedule, tx.now)
    if store.count_schedules(tx, access) >= limits.SCHEDULES_PER_ACCOUNT_MAX:
        why = f"An account has at most {limits.SCHEDULES_PER_ACCOUNT_MAX} schedules; delete some."
        raise Refusal(Code.LIMIT_REACHED, why)
    ensure_lane(tx, access, found.key)
    if new.enabled:
        schedule = enabled(schedule, first)
    store.insert_schedule(tx, access, schedule)
    _publish(tx, "schedule.updated", schedule)
    return schedule


def _require_target(tx: Tx, access: Access, new: NewSchedule, key: SessionKey) -> None:
    """Refuse a target that is missing, unknown, or of another session; a message needs none."""
    if new.type == "message":
        if new.target_id is not None:
            raise invalid("targetId", "A schedule of type message has no target; leave targetId out.")
        return
    if new.target_id is None:
        raise invalid("targetId", f"A schedule of type {new.type} needs the id of its {new.type} in targetId.")
    if new.message:
        raise invalid("message", f"A schedule of type {new.type} has no message of its own; leave message out.")
    if new.type == "goal":
        find_goal(tx, access, new.target_id, key=key)
    elif readable_task(tx, access, new.target_id)[0].is_chat:
        raise invalid("targetId", "The orchestrator chat is not work; name another task.")


def find_schedule(tx: Tx, access: Access, schedule_id: str, *, hold: bool = False) -> Schedule:
    """Return the schedule of that id; one that the caller may not see is not found."""
    if (found := store.schedule_by_id(tx, access, schedule_id, hold=hold)) is None:
        raise not_found("schedule")
    lane = lane_of(tx, access, found.session_key)
    made_by = found.made_by if lane is None or access.kind == "client" else lane.made_by
    if not may_see(tx, access, found.session_key, made_by):
        raise not_found("schedule")
    return found


def change_schedule(tx: Tx, access: Access, schedule_id: str, change: ScheduleChange) -> Schedule:
    """Change a schedule. A new expression or time zone, and enabling it, set the next window from now."""
    before = find_schedule(tx, access, schedule_id, hold=True)
    names = ScheduleChange.__struct_fields__
    changes = {name: value for name in names if (value := getattr(change, name)) is not UNSET}
    is_enabled = changes.pop("enabled", bool(before.enabled))
    if "isolated" in changes:
        changes["isolated"] = int(changes["isolated"])
    after = structs.replace(before, **changes)
    _check(after)
    if change.enabled is True:
        require_executions_left(after)
    if change.enabled is True or {"cron", "timezone"} & changes.keys():
        first = _require_window(after, tx.now)
        after = enabled(after, first) if is_enabled else after
    if before.enabled and not is_enabled:
        after = disabled(after, "requested")
    if after.enabled and after.is_over:
        after = disabled(after, "exhausted")
    saved = save(tx, before, after)
    _publish(tx, "schedule.updated", saved)
    return saved


def require_executions_left(schedule: Schedule) -> None:
    """Refuse to fire a schedule that has reached its maximum."""
    if schedule.exhausted:
        why = f"It has fired {schedule.execution_count} times, its maximum; raise maxExecutions first."
        raise Refusal(Code.LIMIT_REACHED, why, field="maxExecutions")


def remove_schedule(tx: Tx, access: Access, schedule_id: str) -> None:
    """Delete a schedule; its messages stay, and so does its isolated lane."""
    schedule = find_schedule(tx, access, schedule_id)
    store.delete_schedule(tx, access, schedule.id)
    body = json_text({"schedule": {"id": schedule.id}})
    append_event(tx, access, "schedule.deleted", about_lane(schedule.session_key), body)


def save(tx: Tx, before: Schedule, after: Schedule) -> Schedule:
    """Write a locked schedule, and publish an event if that disables it."""
    after = structs.replace(after, updated_at=tx.now)
    store.keep_schedule(tx, after.access, after)
    if before.enabled and not after.enabled:
        _publish(tx, "schedule.disabled", after)
    return after


def _publish(tx: Tx, name: str, schedule: Schedule) -> None:
    body = json_text({"schedule": schedule_shape(tx, schedule)})
    append_event(tx, schedule.access, name, about_lane(schedule.session_key), body)


def _check(schedule: Schedule) -> None:
    if schedule.type == "message":
        check_message(Message(text=schedule.message, provenance=Provenance(kind="cron")))
    elif schedule.message:
        raise invalid("message", f"A schedule of type {schedule.type} has no message of its own.")
    if schedule.max_executions != UNLIMITED and not 1 <= schedule.max_executions <= limits.SCHEDULE_EXECUTIONS_MAX:
        raise invalid("maxExecutions", f"Use {UNLIMITED} for no limit, or 1 to {limits.SCHEDULE_EXECUTIONS_MAX}.")


def _require_window(schedule: Schedule, now: int) -> int:
    if (first := schedule.window_after(now)) is None:
        raise invalid("cron", f"'{schedule.cron}' never occurs: there is no such day.")
    return first
