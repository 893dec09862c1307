"""A schedule that sends a message, or starts work on a goal or task, at the times of a cron expression. Pure.

A window is one of these times. It opens when the schedule fires and closes when its run has ended and is not retried.
Windows that pass while one is open, or while no server runs, become one late window.
"""

from typing import Final, Generic, Literal

from msgspec import structs

from carrel.kernel import MS_PER_MINUTE, Access, SessionKey, Shape, When, clip
from carrel.kernel.limits import ERROR_CHARS_MAX, SCHEDULE_RETRY_MINUTES
from carrel.modes.schedules.cron import read_cron, read_zone
from carrel.sessions import OfSession

ScheduleType = Literal["goal", "task", "message"]
DisabledReason = Literal[
    "requested", "exhausted", "session_deleted", "agent_disabled", "target_gone", "unknown_timezone"
]
UNLIMITED: Final = -1
# The run is queued or running, as far as the schedule knows; any other status is the run's own state.
IN_PROGRESS: Final = "queued"
OPEN_STATUSES: Final = (IN_PROGRESS, "waiting")


class ScheduleFields(Shape, Generic[When], frozen=True, kw_only=True):
    """What is said of a schedule everywhere; the target is the goal or task to work on, as the type says."""

    id: str
    type: ScheduleType
    target_id: str | None
    cron: str
    timezone: str
    disabled_reason: DisabledReason | None
    max_executions: int
    execution_count: int
    next_at: When | None
    retry_at: When | None
    last_at: When | None
    last_status: str | None
    last_error: str | None
    created_at: When
    updated_at: When


class Schedule(OfSession, ScheduleFields[int], frozen=True, kw_only=True):
    """A schedule; its fields are the columns of its table, which has `due_at` as well."""

    account_id: str
    key: str
    message: str
    isolated: int
    enabled: int
    made_by: str
    retries: int = 0
    run_id: str | None = None
    # The spaces of whoever created it: its runs see no more.
    space_ids: tuple[str, ...] = ("*",)
    behalf: str | None = None

    @property
    def access(self) -> Access:
        """The system's access to the schedule's account, with the schedule as actor."""
        return Access(
            account_id=self.account_id, account_slug="", kind="system", actor_id=self.id, name="Schedule",
            space_ids=self.space_ids, behalf=self.behalf,
        )  # fmt: skip

    @property
    def lane_key(self) -> SessionKey:
        """The lane its messages go to: its session's, or one of its own if it is isolated."""
        return SessionKey.of(self.session_key.agent, f"cron:{self.id}") if self.isolated else self.session_key

    @property
    def exhausted(self) -> bool:
        """Whether it has fired as often as allowed."""
        return self.max_executions != UNLIMITED and self.execution_count >= self.max_executions

    @property
    def is_over(self) -> bool:
        """Whether its last window is closed."""
        return self.exhausted and self.retry_at is None and self.last_status not in OPEN_STATUSES

    @property
    def due_at(self) -> int | None:
        """When it fires next; None while it is disabled or its run is in progress."""
        if not self.enabled or self.last_status == IN_PROGRESS:
            return None
        if self.retry_at is not None:
            return self.retry_at
        return None if self.exhausted else self.next_at

    def window_after(self, moment: int) -> int | None:
        """Return the first window after a moment; Refusal when the time zone is unknown."""
        return read_cron(self.cron).next_after(moment, read_zone(self.timezone))


def after_firing(schedule: Schedule, now: int, run_id: str | None) -> Schedule:
    """Record that it fired: in a new window, or as a retry in the open one."""
    fired = _fired(schedule, now, run_id)
    if schedule.retry_at is not None and schedule.next_at is not None and now < schedule.next_at:
        return fired
    count = schedule.execution_count + 1
    return structs.replace(fired, retries=0, execution_count=count, next_at=schedule.window_after(now))


def after_manual_firing(schedule: Schedule, now: int, run_id: str) -> Schedule:
    """Record that a caller fired it: its windows do not move, and this run is not retried."""
    count = schedule.execution_count + 1
    return structs.replace(_fired(schedule, now, run_id), retries=len(SCHEDULE_RETRY_MINUTES), execution_count=count)


def _fired(schedule: Schedule, now: int, run_id: str | None) -> Schedule:
    return structs.replace(
        schedule, run_id=run_id, retry_at=None, last_at=now, last_status=IN_PROGRESS, last_error=None
    )  # fmt: skip


def after_run(schedule: Schedule, now: int, status: str, error: str | None) -> Schedule:
    """Record that its run has ended or waits for an answer; a waiting run does not hold up the next window."""
    shown = None if error is None else clip(error, ERROR_CHARS_MAX)
    noted = structs.replace(schedule, last_status=status, last_error=shown)
    if not schedule.enabled or status == "waiting":
        return noted
    if status == "failed" and schedule.retries < len(SCHEDULE_RETRY_MINUTES):
        retry_at = now + SCHEDULE_RETRY_MINUTES[schedule.retries] * MS_PER_MINUTE
        if schedule.next_at is not None and retry_at < schedule.next_at:
            return structs.replace(noted, retry_at=retry_at, retries=schedule.retries + 1)
    return disabled(noted, "exhausted") if noted.is_over else noted


def disabled(schedule: Schedule, reason: DisabledReason) -> Schedule:
    return structs.replace(schedule, enabled=0, disabled_reason=reason, next_at=None, retry_at=None)


def enabled(schedule: Schedule, next_at: int) -> Schedule:
    return structs.replace(schedule, enabled=1, disabled_reason=None, next_at=next_at, retry_at=None)
