"""The duty that fires schedules: it delivers messages, or assigns targets to agents, and follows the runs.

A schedule's progress is stored and advances in the transaction that delivers its message, so a crash neither loses nor
repeats a window, and several servers may do this side by side. The duty sleeps until the next schedule is due, unless
one is changed or its run has ended or waits for an answer.
"""

from functools import partial
from logging import getLogger

from carrel.agents import agent_enabled
from carrel.journal import append_event, json_text
from carrel.kernel import Access, Code, Refusal, not_found
from carrel.kernel.limits import SCHEDULE_BROKEN_SECONDS, SCHEDULE_LOOK_SECONDS, SCHEDULES_AT_A_TIME
from carrel.modes.auto.targets import first_task, work_message
from carrel.modes.lanes import deliver_unasked
from carrel.modes.schedules.administration import find_schedule, require_executions_left, save, schedule_shape
from carrel.modes.schedules.cron import read_zone
from carrel.modes.schedules.model import (
    OPEN_STATUSES,
    DisabledReason,
    Schedule,
    after_firing,
    after_manual_firing,
    after_run,
    disabled,
)
from carrel.modes.schedules.store import SCHEDULES, schedule_by_id
from carrel.runs import Rules, Run, RunChanged, about_run, run_by_id
from carrel.sessions import lane_of, lock_lane
from carrel.storage import Database, StepDuty, Tx
from carrel.work import Task

_log = getLogger("carrel.modes")


def observe_runs(db: Database) -> None:
    """Register the observer that wakes the duty when the run of a schedule has ended or waits for an answer."""
    db.observe(RunChanged, _wake)


def _wake(tx: Tx, changed: RunChanged) -> None:
    if changed.run.provenance_kind == "cron" and changed.state not in ("queued", "running"):
        tx.wake(SCHEDULES.bell)


def schedule_duty(db: Database, rules: Rules) -> StepDuty[Schedule]:
    """Return the duty that fires the schedules of a store."""
    step = partial(_step, rules=rules)
    return StepDuty(
        db, SCHEDULES, step, items_max=SCHEDULES_AT_A_TIME, retry_seconds=SCHEDULE_BROKEN_SECONDS,
        wait_seconds_max=SCHEDULE_LOOK_SECONDS,
    )  # fmt: skip


def _step(tx: Tx, item: Schedule, rules: Rules) -> None:
    """Follow the run of one schedule, and fire it if it is due."""
    target = _target(tx, item, rules) if item.due_at is not None and item.due_at <= tx.now else None
    if (schedule := _lock(tx, item)) is None:
        return
    if schedule.last_status in OPEN_STATUSES:
        schedule = _follow_run(tx, schedule)
    if schedule.due_at is not None and schedule.due_at <= tx.now:
        _fire(tx, schedule, target, rules)


def fire_now(tx: Tx, access: Access, schedule_id: str, rules: Rules) -> tuple[Schedule, Run]:
    """Fire a schedule now, even a disabled one; its windows do not move."""
    seen = find_schedule(tx, access, schedule_id)
    target = _target(tx, seen, rules)
    if (schedule := _lock(tx, seen)) is None:
        raise Refusal(Code.CONFLICT, "This schedule was changed a moment ago; try again.")
    require_executions_left(schedule)
    reason = _reason_to_disable(tx, schedule, target)
    if reason == "session_deleted":
        raise not_found("session")
    if reason == "target_gone":
        raise Refusal(Code.CONFLICT, f"Nothing is left to do on {schedule.target_id}.")
    run = _deliver(tx, schedule, target, rules)
    return _publish_fired(tx, save(tx, schedule, after_manual_firing(schedule, tx.now, run.id)), run), run


def _target(tx: Tx, seen: Schedule, rules: Rules) -> Task | None:
    """Return the task that a schedule works on, assigned to its agent; None if there is none.

    It is looked up before the lane is locked: goals and tasks come before lanes.
    """
    if seen.type == "message" or lane_of(tx, seen.access, seen.session_key) is None:
        return None
    named = {"goal_id": None, "task_id": None} | {f"{seen.type}_id": seen.target_id}
    try:
        return first_task(tx, seen.access, seen.session_key, rules, **named, text=None)
    except Refusal:
        return None


def _lock(tx: Tx, seen: Schedule) -> Schedule | None:
    """Lock a schedule and return its current state; None if it was deleted or moved to another lane."""
    # Lanes are always locked first.
    lock_lane(tx, seen.access, str(seen.lane_key))
    schedule = schedule_by_id(tx, seen.access, seen.id, hold=True)
    return schedule if schedule is not None and schedule.lane_key == seen.lane_key else None


def _follow_run(tx: Tx, schedule: Schedule) -> Schedule:
    """Record the state of its run, if that has ended or waits."""
    run = run_by_id(tx, schedule.access, schedule.run_id or "")
    # A run that no longer exists was cancelled and deleted with its lane.
    status, error = (run.state, run.error_message) if run is not None else ("cancelled", None)
    if status in ("queued", "running", schedule.last_status):
        return schedule
    return save(tx, schedule, after_run(schedule, tx.now, status, error))


def _fire(tx: Tx, schedule: Schedule, target: Task | None, rules: Rules) -> None:
    if (reason := _reason_to_disable(tx, schedule, target)) is not None:
        _log.warning("schedule_disabled", extra={"schedule_id": schedule.id, "reason": reason})
        save(tx, schedule, disabled(schedule, reason))
        return
    try:
        run = _deliver(tx, schedule, target, rules)
    except Refusal as refusal:
        # A lane that refuses messages now counts as a failed run.
        _log.warning("schedule_refused", extra={"schedule_id": schedule.id, "error": refusal.message})
        save(tx, schedule, after_run(after_firing(schedule, tx.now, None), tx.now, "failed", refusal.message))
        return
    _publish_fired(tx, save(tx, schedule, after_firing(schedule, tx.now, run.id)), run)


def _reason_to_disable(tx: Tx, schedule: Schedule, target: Task | None) -> DisabledReason | None:
    """Return why the schedule can no longer fire, or None."""
    if lane_of(tx, schedule.access, schedule.session_key) is None:
        return "session_deleted"
    if not agent_enabled(tx, schedule.access, schedule.session_key.agent):
        return "agent_disabled"
    if schedule.type != "message" and target is None:
        return "target_gone"
    try:
        read_zone(schedule.timezone)
    except Refusal:
        return "unknown_timezone"
    return None


def _deliver(tx: Tx, schedule: Schedule, target: Task | None, rules: Rules) -> Run:
    """Deliver the message, or one about its target."""
    text, task_id = (schedule.message, None) if target is None else (work_message(target), target.id)
    return deliver_unasked(tx, schedule.access, schedule.lane_key, text, "cron", rules, task_id=task_id)


def _publish_fired(tx: Tx, schedule: Schedule, run: Run) -> Schedule:
    body = json_text({"schedule": schedule_shape(tx, schedule), "runId": run.id})
    append_event(tx, schedule.access, "schedule.fired", about_run(run), body)
    return schedule
