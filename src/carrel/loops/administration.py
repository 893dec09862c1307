"""What people do about a loop: allow it, or send a message, which allows it too; a stop clears its trace."""

from carrel.kernel import Access, Code, Refusal
from carrel.loops.model import HELD_FOR, is_caused
from carrel.loops.store import drop_trace, keep_trace, read_trace
from carrel.runs import LaneStopped, Run, RunChanged, release_held, run_by_id
from carrel.storage import Database, Tx


def allow_loop(tx: Tx, access: Access, run: Run) -> Run:
    """Let the session of a held run go on: what it did before no longer counts."""
    if run.state != "queued" or run.held_for != HELD_FOR:
        raise Refusal(Code.CONFLICT, "This run is not held for a loop: there is nothing to allow.")
    _go_on(tx, access, run)
    return run_by_id(tx, access, run.id) or run


def _go_on(tx: Tx, access: Access, run: Run) -> None:
    """Release held runs in the session of a run; nothing that was done before counts again."""
    if release_held(tx, access, HELD_FOR, key=run.key):
        keep_trace(tx, access, run.key, read_trace(tx, access, run).allowed(tx.tick()))


def observe_runs(db: Database) -> None:
    """Register the observers of messages to held sessions, and of stopped sessions."""
    db.observe(RunChanged, _hear_person)
    db.observe(LaneStopped, lambda tx, stopped: drop_trace(tx, stopped.access, stopped.key))


def _hear_person(tx: Tx, changed: RunChanged) -> None:
    """Release a session into which a person sent a message; only a run that waits behind another can be that."""
    run = changed.run
    if changed.state == "queued" and isinstance(run, Run) and run.due_at is None and not is_caused(run):
        _go_on(tx, run.access, run)
