"""The pruner: deletes what is past its retention and closes generations that grew too long, in small batches."""

from collections.abc import Callable, Sequence

from carrel.access import every_account, prune_answers, prune_run_tokens
from carrel.agents import every_agent
from carrel.journal import attached_in, delete_transcript, prune_events, session_has_entries
from carrel.kernel import METRICS, MS_PER_DAY, MS_PER_MINUTE, Access, system_access
from carrel.kernel.limits import IDEMPOTENCY_KEPT_HOURS, NOTIFICATIONS_KEPT_MAX, PRUNE_ROWS_MAX, PRUNE_SECONDS
from carrel.kernel.settings import Settings
from carrel.notifications import prune_notifications
from carrel.records import delete_attachments
from carrel.runs import count_store, store
from carrel.runs.cancellation import end_without_worker
from carrel.sessions import (
    Lane,
    Session,
    close_generation,
    closed_sessions_before,
    delete_session,
    idle_children,
    lock_lane,
    open_session_of,
    session_by_id,
    set_archived,
)
from carrel.storage import FEED, Database, Tx, repeat

# Deletes a batch of expired rows of another room in one account; returns how many.
Prune = Callable[[Tx, Access], int]


class Pruner:
    """Prunes the store periodically; `more` are the prune functions of other rooms."""

    def __init__(self, db: Database, settings: Settings, more: Sequence[Prune] = ()) -> None:
        self._db = db
        self._settings = settings
        self._more = more

    async def serve(self) -> None:
        await repeat(self._db, "prune", PRUNE_SECONDS, lambda tx: prune(tx, self._settings, self._more))


def prune(tx: Tx, settings: Settings, more: Sequence[Prune] = ()) -> int:
    """Delete, archive or close one batch of what is past its limits; return how much, 0 if nothing is left."""
    removed = _expire_waits(tx, settings)
    for account in every_account(tx):
        access = system_access(account.id, account.slug)
        removed += _prune_runs(tx, access, _ago(tx, settings.runs.retention_days), a2a=False)
        removed += _prune_runs(tx, access, _ago(tx, settings.a2a.tasks.ttl_days), a2a=True)
        removed += _prune_sessions(tx, access, _ago(tx, settings.sessions.closed_retention_days))
        removed += _rotate_main_lanes(tx, access, settings.sessions.base_entries_max)
        removed += _archive_children(tx, access, settings.agents.defaults.subagents.archive_after_minutes)
        removed += prune_events(tx, access, _ago(tx, settings.events.retention_days), limit=PRUNE_ROWS_MAX)
        # Notifications about a run are kept as long as the run.
        before = _ago(tx, settings.runs.retention_days)
        removed += prune_notifications(tx, access, before, keep=NOTIFICATIONS_KEPT_MAX, limit=PRUNE_ROWS_MAX)
        removed += prune_answers(tx, access, _ago(tx, IDEMPOTENCY_KEPT_HOURS / 24))
        removed += prune_run_tokens(tx, access, limit=PRUNE_ROWS_MAX)
        removed += sum(prune_more(tx, access) for prune_more in more)
    return removed


def _ago(tx: Tx, days: float) -> int:
    """Return the moment that many days ago; 0, which is before everything, for 0 days: keep forever."""
    return tx.now - int(days * MS_PER_DAY) if days else 0


def _prune_runs(tx: Tx, access: Access, before: int, *, a2a: bool) -> int:
    old = store.ended_runs(tx, access, before, a2a=a2a, limit=PRUNE_ROWS_MAX)
    for run in old:
        if store.delete_run(tx, access, run.id) and a2a:
            count_store.count_run(tx, access, run, -1)
        if run.session_id is None:
            # No turn has started, so no entry refers to its files; otherwise they are kept as long as the entry.
            delete_attachments(tx, access, run.attached())
    if old:
        METRICS.count("runs.purged.count", access.account_id, len(old))
        # This writes no event, but followers that count runs must count again.
        tx.wake(FEED)
    return len(old)


def _expire_waits(tx: Tx, settings: Settings) -> int:
    old = store.expired_waits(
        tx,
        person_before=_ago(tx, settings.runs.waiting_days),
        program_before=_ago(tx, settings.responses.tool_output_wait_minutes * MS_PER_MINUTE / MS_PER_DAY),
        limit=PRUNE_ROWS_MAX,
    )
    for seen in old:
        lock_lane(tx, seen.access, seen.key)
        run = store.hold_run(tx, seen.access, seen.id)
        if run is not None and run.state == "waiting":
            end_without_worker(tx, run, "cancelled", "expired")
    return len(old)


def _rotate_main_lanes(tx: Tx, access: Access, entries_max: int) -> int:
    """Close the generations of main lanes that have grown too long; the next message starts a new one."""
    closed = 0
    for agent in every_agent(tx, access):
        session = open_session_of(tx, access, str(agent.base_key))
        if session is not None and session_has_entries(tx, access, session.id, entries_max):
            closed += close_generation(tx, access, agent.base_key, "rotated") is not None
    return closed


def _archive_children(tx: Tx, access: Access, default_minutes: float) -> int:
    """Archive idle sub-agents; the agent that spawned them decides after how long."""
    found = 0
    for agent in every_agent(tx, access):
        own = agent.profile.subagents.archive_after_minutes
        minutes = default_minutes if own is None else own
        if minutes:
            before = tx.now - int(minutes * MS_PER_MINUTE)
            idle = idle_children(tx, access, agent.id, before, limit=PRUNE_ROWS_MAX)
            found += sum(_archive(tx, access, lane, before) for lane in idle)
    return found


def _archive(tx: Tx, access: Access, seen: Lane, before: int) -> bool:
    # Locked, then checked again: a message may have arrived meanwhile.
    lane = lock_lane(tx, access, seen.key)
    if lane is None or lane.depth or lane.updated_at >= before or lane.archived_at is not None:
        return False
    set_archived(tx, access, lane.session_key, archived=True)
    return True


def _prune_sessions(tx: Tx, access: Access, before: int) -> int:
    old = closed_sessions_before(tx, access, before, limit=PRUNE_ROWS_MAX)
    return sum(_prune_session(tx, access, session) for session in old)


def _prune_session(tx: Tx, access: Access, seen: Session) -> bool:
    # Locked, then checked again: an archived one may have been reopened meanwhile.
    lock_lane(tx, access, seen.key)
    session = session_by_id(tx, access, seen.id)
    if session is None or session.closed_at != seen.closed_at:
        return False
    delete_attachments(tx, access, attached_in(tx, access, "session_id", session.id))
    delete_transcript(tx, access, "session_id", session.id)
    delete_session(tx, access, session.id)
    return True
