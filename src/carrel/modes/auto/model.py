"""An auto run as a value: its kind, its states, and what its ticks carry. Pure."""

from typing import Final, Literal

from msgspec import Struct

from carrel.kernel import MS_PER_SECOND, Access
from carrel.sessions import OfSession

RunKind = Literal["GOAL_RUN", "TASK_RUN"]
AutoStatus = Literal["active", "stopping", "stopped", "completed", "failed", "interrupted"]
AutoReason = Literal[
    "requested", "session_stopped", "task_done", "goal_done", "task_archived", "goal_ended", "max_ticks",
    "tick_failed", "server_restarted",
]  # fmt: skip
# The state machine. A status without transitions is final.
AUTO_MOVES: dict[str, tuple[AutoStatus, ...]] = {
    "active": ("stopping", "stopped", "completed", "failed", "interrupted"),
    "stopping": ("stopped",),
    "stopped": (),
    "completed": (),
    "failed": (),
    "interrupted": (),
}
LIVE: Final = tuple(status for status, onward in AUTO_MOVES.items() if onward)


class RunAttributes(
    Struct,
    frozen=True,
    kw_only=True,
    rename={
        "run_kind": "AUTO_RUN_KIND",
        "run_id": "AUTO_RUN_ID",
        "goal_id": "AUTO_GOAL_ID",
        "task_id": "AUTO_TASK_ID",
        "channel": "SESSION_IDENTITY_CHANNEL",
        "conversation": "SESSION_IDENTITY_CONVERSATION",
    },
):
    """The attributes of a run: its session's identity and, on a tick, the context of its auto run."""

    run_kind: RunKind | None = None
    run_id: str | None = None
    goal_id: str | None = None
    task_id: str | None = None
    channel: str
    conversation: str


class AutoRun(OfSession, Struct, frozen=True, kw_only=True):
    """An auto run; its fields are the columns of its table."""

    account_id: str
    id: str
    key: str
    made_by: str
    task_id: str
    status: AutoStatus
    alive_until: int
    created_at: int
    updated_at: int
    goal_id: str | None = None
    reason: AutoReason | None = None
    # None means the interval of the settings.
    interval_seconds: int | None = None
    tick_count: int = 0
    # The queued or running tick; if the auto run is due, the tick has ended and that is not recorded yet.
    tick_run_id: str | None = None
    last_tick_at: int | None = None
    # When to look at it next: its next tick, or at once if a tick has ended.
    due_at: int | None = None
    worker: str | None = None
    ended_at: int | None = None
    # The spaces of whoever started it: its runs see no more.
    space_ids: tuple[str, ...] = ("*",)
    behalf: str | None = None

    def __post_init__(self) -> None:
        if not self.task_id:
            raise ValueError("an auto run has a task")

    @property
    def run_kind(self) -> RunKind:
        """The kind, derived from its ids."""
        return "TASK_RUN" if self.goal_id is None else "GOAL_RUN"

    @property
    def access(self) -> Access:
        """The system's access to its account, with the auto run as actor."""
        return Access(
            account_id=self.account_id, account_slug="", kind="system", actor_id=self.id, name="Auto run",
            space_ids=self.space_ids, behalf=self.behalf,
        )  # fmt: skip

    def attributes(self, task_id: str | None) -> RunAttributes:
        """Return the attributes of a tick that worked on that task."""
        channel, rest = self.session_key.identity
        return RunAttributes(
            run_kind=self.run_kind,
            run_id=self.id,
            goal_id=self.goal_id,
            task_id=task_id,
            channel=channel,
            conversation=rest,
        )

    def log_fields(self, run_id: str | None = None) -> dict[str, str | None]:
        """Return the fields for its log lines."""
        return {
            "session_identity": ":".join(self.session_key.identity), "session_key": self.key, "run_id": run_id,
            "auto_run_id": self.id, "run_kind": self.run_kind, "goal_id": self.goal_id, "task_id": self.task_id,
        }  # fmt: skip


def next_tick_at(auto: AutoRun, now: int, started_at: int, interval_seconds: int) -> int:
    """Return when the next tick is due: an interval after the last one started, but not before it has ended."""
    return max(now, started_at + (auto.interval_seconds or interval_seconds) * MS_PER_SECOND)
