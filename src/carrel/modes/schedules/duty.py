"""Firing: says what a schedule says when its window comes, and follows what becomes of it, beside the turns.

Where a schedule stands is stored, and it moves on in the transaction that delivers its message: whatever dies in
between, a window is neither lost nor doubled, and several servers may do this side by side. Nobody looks before the
next moment at which something is due, unless a schedule was changed or a run of one has come to rest.
"""

from contextlib import suppress
from functools import partial
from logging import getLogger

from msgspec import UNSET

from carrel.agents import agent_enabled
from carrel.journal import append_event, json_text
from carrel.kernel import (
    INTERNAL_CHANNEL,
    MS_PER_SECOND,
    Access,
    Code,
    Envelope,
    Message,
    Provenance,
    Refusal,
    not_found,
)
from carrel.kernel.limits import (
    SCHEDULE_BROKEN_SECONDS,
    SCHEDULE_LOOK_SECONDS,
    SCHEDULES_AT_A_TIME,
)
from carrel.modes.schedules.administration import find_schedule, keep, require_left, shape_of
from carrel.modes.schedules.cron import read_zone
from carrel.modes.schedules.model import (
    SCHEDULES,
    UNENDED,
    DisabledReason,
    Schedule,
    disabled,
    fired,
    fired_by_hand,
    rested,
)
from carrel.modes.schedules.store import next_schedule_due, put_off, schedule_by_id, schedules_to_move
from carrel.outbox import keep_reply_address
from carrel.runs import Rules, Run, RunChanged, about_run, deliver, run_by_id
from carrel.sessions import lane_of, lock_lane
from carrel.storage import Database, Duty, Tx

_log = getLogger("carrel.modes")


def observe_runs(db: Database) -> None:
    """Have a schedule looked at again once its run has come to rest."""
    db.observe(RunChanged, _wake)


def _wake(tx: Tx, changed: RunChanged) -> None:
    if changed.run.provenance_kind == "cron" and changed.state not in ("queued", "running"):
        tx.wake(SCHEDULES)


class Schedules(Duty[Schedule]):
    """Has the schedules of one store fire."""

    name = "schedules"
    bell = SCHEDULES
    items_max = SCHEDULES_AT_A_TIME
    wait_seconds_max = SCHEDULE_LOOK_SECONDS

    def __init__(self, db: Database, rules: Rules) -> None:
        super().__init__(db)
        self._rules = rules

    def next_due(self, tx: Tx) -> int | None:
        """At once when a run of a schedule has come to rest, else when the next window comes."""
        return tx.now if schedules_to_move(tx, 1) else next_schedule_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Schedule]:
        """Schedules that are due or whose run has come to rest."""
        found = {(seen.account_id, seen.id): seen for seen in schedules_to_move(tx, limit)}
        return list(found.values())

    async def do(self, item: Schedule) -> None:
        """Move one schedule; one that breaks off waits a while."""
        try:
            await self.db.write(partial(self._move, seen=item))
        except Exception:
            with suppress(Refusal):
                await self.db.write(partial(_leave_for_later, seen=item))
            raise

    def _move(self, tx: Tx, seen: Schedule) -> None:
        schedule = _hold(tx, seen)
        if schedule is None:
            return
        if schedule.last_status in UNENDED:
            schedule = _follow(tx, schedule)
        if schedule.due_at is not None and schedule.due_at <= tx.now:
            _fire(tx, schedule, self._rules)


def fire_now(tx: Tx, access: Access, schedule_id: str, rules: Rules) -> tuple[Schedule, Run]:
    """Have a schedule fire at once, disabled or not; its windows stay where they are."""
    schedule = _hold(tx, find_schedule(tx, access, schedule_id))
    if schedule is None:
        raise Refusal(Code.CONFLICT, "This schedule was changed a moment ago; try again.")
    require_left(schedule)
    if _vanished(tx, schedule) == "session_deleted":
        raise not_found("session")
    run = _say(tx, schedule, rules)
    return _tell_fired(tx, keep(tx, schedule, fired_by_hand(schedule, tx.now, run.id)), run), run


def _hold(tx: Tx, seen: Schedule) -> Schedule | None:
    """A schedule as it is now, held; None when it is gone, or speaks in another lane since."""
    # The lane comes first, as everywhere.
    lock_lane(tx, seen.access, str(seen.lane_key))
    schedule = schedule_by_id(tx, seen.access, seen.id, hold=True)
    return schedule if schedule is not None and schedule.lane_key == seen.lane_key else None


def _follow(tx: Tx, schedule: Schedule) -> Schedule:
    """The schedule as its run has left it, if that rests."""
    run = run_by_id(tx, schedule.access, schedule.run_id or "")
    # A run that is gone went with its lane, which cancels it.
    status, error = (run.state, run.error_message) if run is not None else ("cancelled", None)
    if status in ("queued", "running", schedule.last_status):
        return schedule
    return keep(tx, schedule, rested(schedule, tx.now, status, error))


def _fire(tx: Tx, schedule: Schedule, rules: Rules) -> None:
    gone = _vanished(tx, schedule)
    if gone is not None:
        _log.warning("schedule_disabled", extra={"schedule_id": schedule.id, "reason": gone})
        keep(tx, schedule, disabled(schedule, gone))
        return
    try:
        run = _say(tx, schedule, rules)
    except Refusal as refusal:
        # A lane that takes nothing now makes a window that has failed.
        _log.warning("schedule_refused", extra={"schedule_id": schedule.id, "error": refusal.message})
        keep(tx, schedule, rested(fired(schedule, tx.now, None), tx.now, "failed", refusal.message))
        return
    _tell_fired(tx, keep(tx, schedule, fired(schedule, tx.now, run.id)), run)


def _vanished(tx: Tx, schedule: Schedule) -> DisabledReason | None:
    """Why there is nothing left to speak to, or no way to tell when; None when all is there."""
    if lane_of(tx, schedule.access, schedule.session_key) is None:
        return "session_deleted"
    if not agent_enabled(tx, schedule.access, schedule.session_key.agent):
        return "agent_disabled"
    try:
        read_zone(schedule.timezone)
    except Refusal:
        return "unknown_timezone"
    return None


def _say(tx: Tx, schedule: Schedule, rules: Rules) -> Run:
    """Deliver the message; what the agent answers goes where its session was last spoken in."""
    lane = lane_of(tx, schedule.access, schedule.lane_key)
    place = None if lane is None else lane.chat_address
    provenance = Provenance(kind="cron", source_channel=place[0] if place else UNSET, actor=schedule.id)
    message = Message(text=schedule.message, provenance=provenance)
    run = deliver(
        tx, schedule.access, Envelope(key=schedule.lane_key, message=message, channel=INTERNAL_CHANNEL), rules
    )
    if place:
        keep_reply_address(tx, schedule.access, run.id, *place)
    return run


def _tell_fired(tx: Tx, schedule: Schedule, run: Run) -> Schedule:
    body = json_text({"schedule": shape_of(tx, schedule), "runId": run.id})
    append_event(tx, schedule.access, "schedule.fired", about_run(run), body)
    return schedule


def _leave_for_later(tx: Tx, seen: Schedule) -> None:
    put_off(tx, seen.access, seen.id, tx.now + SCHEDULE_BROKEN_SECONDS * MS_PER_SECOND)
