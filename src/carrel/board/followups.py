"""Follow-ups: delegated work is checked at growing intervals, and people are notified if it takes long.

The server does this itself: a check reads the run and writes, and starts no turn in any lane.
"""

from bisect import bisect_right
from functools import partial

import msgspec
from msgspec import Struct, structs

from carrel.board import store
from carrel.board.store import Followup
from carrel.exchanges import exchange_after
from carrel.journal import NewEntry, append_entry, append_event, json_text
from carrel.kernel import MS_PER_MINUTE, MS_PER_SECOND, Access, Provenance, system_access
from carrel.kernel.limits import FOLLOWUP_RETRY_SECONDS, FOLLOWUPS_AT_A_TIME, SAFETY_POLL_SECONDS
from carrel.kernel.settings import FollowupsSettings
from carrel.monitoring import headline, notify_people
from carrel.notifications import NewNotification
from carrel.runs import Claim, Run, RunChanged, about_run, run_by_id
from carrel.sessions import Session, lock_lane, session_by_id
from carrel.storage import Database, StepDuty, Tx


class Position(Struct, frozen=True):
    """A position on the ladder: the number of the last check, and the interval to the next."""

    check: int
    next_ms: int


def position_at(ladder_minutes: tuple[float, ...], elapsed_ms: int) -> Position:
    """Return the position after a time; past the ladder's end, its last interval repeats."""
    rungs = [int(minutes * MS_PER_MINUTE) for minutes in sorted(ladder_minutes)]
    passed = bisect_right(rungs, elapsed_ms)
    if passed < len(rungs):
        return Position(passed, rungs[passed])
    last = max(rungs[-1], 1)
    return Position(passed + elapsed_ms // last - 1, (elapsed_ms // last + 1) * last)


def observe_delegated_runs(db: Database, settings: FollowupsSettings) -> None:
    """Register the observer that begins and ends follow-ups; an empty ladder begins none."""

    def follow(tx: Tx, changed: RunChanged) -> None:
        run = changed.run
        if not _is_delegated(run):
            return
        if changed.ended:
            store.end_followup(tx, run.access, run.id)
        elif changed.state == "queued" and settings.ladder_minutes:
            _begin(tx, run, position_at(settings.ladder_minutes, tx.now - run.created_at))

    db.observe(RunChanged, follow)


def _is_delegated(run: Claim) -> bool:
    """Whether an agent handed this work to another session: by a spawn, a send or a request for a response."""
    if run.provenance_kind == "notification":
        return msgspec.json.decode(run.provenance, type=Provenance).type == "response_request"
    return run.provenance_kind in ("inter_session", "spawn")


def _begin(tx: Tx, run: Claim, position: Position) -> None:
    due_at = run.created_at + position.next_ms
    followup = Followup(account_id=run.account_id, run_id=run.id, due_at=due_at, seen=_state(run))
    store.begin_followup(tx, run.access, followup)
    # For later ones, the duty looks every few seconds anyway.
    if due_at - tx.now <= SAFETY_POLL_SECONDS * MS_PER_SECOND:
        tx.wake(store.FOLLOWUPS.bell)


def followup_duty(db: Database, settings: FollowupsSettings) -> StepDuty[Followup]:
    """Return the duty that checks the delegated runs of a store."""
    step = partial(_follow_up, settings=settings)
    return StepDuty(db, store.FOLLOWUPS, step, items_max=FOLLOWUPS_AT_A_TIME, retry_seconds=FOLLOWUP_RETRY_SECONDS)


def _follow_up(tx: Tx, item: Followup, settings: FollowupsSettings) -> None:
    """Check one run, if that is still due."""
    access = system_access(item.account_id)
    if (seen := run_by_id(tx, access, item.run_id)) is None:
        return
    asked_in = _requester(tx, access, seen)
    # Lanes are always locked before rows.
    for key in sorted({seen.key, asked_in.key} if asked_in else {seen.key}):
        lock_lane(tx, access, key)
    held, run = store.hold_followup(tx, access, item.run_id), run_by_id(tx, access, item.run_id)
    if held is None or run is None or held.due_at > tx.now:
        return
    if not settings.ladder_minutes:
        store.end_followup(tx, access, run.id)
        return
    elapsed_ms = tx.now - run.created_at
    position = position_at(settings.ladder_minutes, elapsed_ms)
    is_long = elapsed_ms >= settings.progress_after_minutes * MS_PER_MINUTE
    # At first only a change of its state is reported.
    if is_long or held.seen != _state(run):
        note = _note(run, elapsed_ms)
        progress = {"elapsedSeconds": elapsed_ms // MS_PER_SECOND, "check": position.check, "note": note}
        append_event(tx, run.access, "run.progress", about_run(run), json_text(progress))
        if is_long:
            _tell(tx, run, asked_in, note, progress)
    due_at = run.created_at + position.next_ms
    store.keep_followup(tx, access, structs.replace(held, due_at=due_at, seen=_state(run)))


def _requester(tx: Tx, access: Access, run: Run) -> Session | None:
    """Return the session that handed a run over; None if there was none, or it has ended since."""
    exchange, parent = exchange_after(tx, access, run.id), _parent(tx, run)
    session_id = (exchange and exchange.requester_session_id) or (parent and parent.session_id)
    session = session_by_id(tx, access, session_id) if session_id else None
    return session if session is not None and session.closed_at is None else None


def _parent(tx: Tx, run: Run) -> Run | None:
    return run_by_id(tx, run.access, run.parent_run_id) if run.parent_run_id else None


def _tell(tx: Tx, run: Run, asked_in: Session | None, note: str, progress: dict[str, object]) -> None:
    """Write an entry into the session that asked, and notify the people concerned."""
    text = headline(tx, run, "is still working on")
    if asked_in is not None:
        entry = NewEntry(
            type="system",
            role="system",
            content=f"{text}\n{note}",
            author="system",
            provenance=Provenance(kind="internal_system", actor="followups"),
            details={"progress": {"runId": run.id, "sessionKey": run.key} | progress},
            key=asked_in.key,
            session_id=asked_in.id,
            agent_id=asked_in.agent_id,
            # Nobody said it, so it does not belong on the board.
            classification="classified",
        )
        append_entry(tx, run.access, entry)
    parent = _parent(tx, run)
    new = NewNotification(
        type="progress",
        title=text,
        body=note,
        key=run.key,
        task_id=run.task_id,
        run_id=run.id,
        session_id=run.session_id,
    )
    notify_people(tx, run.access, [run, parent] if parent else [run], new)


def _state(run: Claim) -> str:
    return f"{run.state}:{run.attempt}"


def _note(run: Run, elapsed_ms: int) -> str:
    since = f"It was handed over {_minutes(elapsed_ms)} ago"
    if run.state == "waiting":
        return f"{since} and is waiting for {run.waiting_for}."
    if run.state == "queued":
        return f"{since} and is {'waiting for its next attempt' if run.attempt else 'waiting for its turn'}."
    return f"{since} and is running{f', in attempt {run.attempt}' if run.attempt > 1 else ''}."


def _minutes(elapsed_ms: int) -> str:
    minutes = elapsed_ms // MS_PER_MINUTE
    if minutes < 1:
        return f"{elapsed_ms // MS_PER_SECOND} seconds"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
