"""A schedule, and how it moves from window to window. Pure: every function gives the schedule as it is to be kept.

A window is a moment that the cron expression names. It opens when the schedule fires, and it is over when its run has
ended and is not tried again. Windows that come while one is open, or while nobody looks, become one that comes late.
"""

from typing import Final, Literal

from msgspec import Struct, structs

from carrel.kernel import MS_PER_MINUTE, Access, SessionKey, clip
from carrel.kernel.limits import ERROR_CHARS_MAX, SCHEDULE_RETRY_MINUTES
from carrel.modes.schedules.cron import read_cron, read_zone

# Rung when a schedule was changed, or its run has come to rest.
SCHEDULES = "schedules"
ScheduleType = Literal["goal", "task", "message"]
DisabledReason = Literal["requested", "exhausted", "session_deleted", "agent_disabled", "unknown_timezone"]
FOR_EVER: Final = -1
# The run is on its way, as far as the schedule knows; any other status is where the run rests.
LIVE: Final = "queued"
UNENDED: Final = (LIVE, "waiting")


class Schedule(Struct, frozen=True, kw_only=True):
    """A message that is said at moments; its fields are the columns of its table, which has `due_at` besides."""

    account_id: str
    id: str
    key: str
    type: ScheduleType
    message: str
    cron: str
    timezone: str
    isolated: int
    enabled: int
    max_executions: int
    made_by: str
    created_at: int
    updated_at: int
    disabled_reason: DisabledReason | None = None
    execution_count: int = 0
    next_at: int | None = None
    retry_at: int | None = None
    retries: int = 0
    run_id: str | None = None
    last_at: int | None = None
    last_status: str | None = None
    last_error: str | None = None

    @property
    def access(self) -> Access:
        """The house's access to the schedule's account, under the schedule's name."""
        return Access(account_id=self.account_id, account_slug="", kind="system", actor_id=self.id, name="Schedule")

    @property
    def session_key(self) -> SessionKey:
        """The session it belongs to."""
        return SessionKey.stored(self.key)

    @property
    def lane_key(self) -> SessionKey:
        """The lane it speaks in: its session's, or one of its own."""
        return SessionKey.of(self.session_key.agent, f"cron:{self.id}") if self.isolated else self.session_key

    @property
    def exhausted(self) -> bool:
        """True once it has fired as often as it may."""
        return self.max_executions != FOR_EVER and self.execution_count >= self.max_executions

    @property
    def is_over(self) -> bool:
        """True once it has fired for the last time and nothing of that is left to be done."""
        return self.exhausted and self.retry_at is None and self.last_status not in UNENDED

    @property
    def due_at(self) -> int | None:
        """When something is to be done; None while disabled, and while its run is on its way."""
        if not self.enabled or self.last_status == LIVE:
            return None
        if self.retry_at is not None:
            return self.retry_at
        return None if self.exhausted else self.next_at

    def window_after(self, moment: int) -> int | None:
        """The first window behind a moment; Refusal when this machine does not know the time zone."""
        return read_cron(self.cron).next_after(moment, read_zone(self.timezone))


def fired(schedule: Schedule, now: int, run_id: str | None) -> Schedule:
    """The schedule once its message was said: in the next window, or once more in the open one."""
    again = structs.replace(schedule, run_id=run_id, retry_at=None, last_at=now, last_status=LIVE, last_error=None)
    if schedule.retry_at is not None and schedule.next_at is not None and now < schedule.next_at:
        return again
    count = schedule.execution_count + 1
    return structs.replace(again, retries=0, execution_count=count, next_at=schedule.window_after(now))


def fired_by_hand(schedule: Schedule, now: int, run_id: str) -> Schedule:
    """The schedule once somebody had it fire: its windows stay where they are, and this one is not tried again."""
    return structs.replace(
        schedule,
        run_id=run_id,
        retry_at=None,
        retries=len(SCHEDULE_RETRY_MINUTES),
        execution_count=schedule.execution_count + 1,
        last_at=now,
        last_status=LIVE,
        last_error=None,
    )


def rested(schedule: Schedule, now: int, status: str, error: str | None) -> Schedule:
    """The schedule once its run has ended or waits for a person, which opens no window and keeps none from opening."""
    noted = structs.replace(
        schedule, last_status=status, last_error=None if error is None else clip(error, ERROR_CHARS_MAX)
    )
    if not schedule.enabled or status == "waiting":
        return noted
    if status == "failed" and schedule.retries < len(SCHEDULE_RETRY_MINUTES):
        retry_at = now + SCHEDULE_RETRY_MINUTES[schedule.retries] * MS_PER_MINUTE
        if schedule.next_at is not None and retry_at < schedule.next_at:
            return structs.replace(noted, retry_at=retry_at, retries=schedule.retries + 1)
    return disabled(noted, "exhausted") if noted.is_over else noted


def disabled(schedule: Schedule, reason: DisabledReason) -> Schedule:
    """The schedule without windows, and why."""
    return structs.replace(schedule, enabled=0, disabled_reason=reason, next_at=None, retry_at=None)


def enabled(schedule: Schedule, next_at: int) -> Schedule:
    """The schedule with its next window, which is the first of a new beginning."""
    return structs.replace(schedule, enabled=1, disabled_reason=None, next_at=next_at, retry_at=None)
