"""What people do about a loop: let it go on, or say something, which does too; what is stopped is forgotten."""

from carrel.kernel import Access, Code, Refusal
from carrel.loops.model import HELD_FOR, is_caused
from carrel.loops.store import drop_trace, keep_trace, read_trace
from carrel.runs import LaneStopped, Run, RunChanged, release_held, run_by_id
from carrel.storage import Database, Tx


def allow_loop(tx: Tx, access: Access, run: Run) -> Run:
    """Let the session of a held run go on: what it has done until now does not count any more."""
    if run.state != "queued" or run.held_for != HELD_FOR:
        raise Refusal(Code.CONFLICT, "This run is not held for a loop: there is nothing to allow.")
    _go_on(tx, access, run)
    return run_by_id(tx, access, run.id) or run


def _go_on(tx: Tx, access: Access, run: Run) -> None:
    """Let what is held in the session of a run go on; nothing that was done before counts again."""
    if release_held(tx, access, HELD_FOR, key=run.key):
        keep_trace(tx, access, run.key, read_trace(tx, access, run).allowed(tx.tick()))


def observe_runs(db: Database) -> None:
    """Register the observers: of messages to a session that is held, and of sessions that are stopped."""
    db.observe(RunChanged, _hear_person)
    db.observe(LaneStopped, _forget)


def _hear_person(tx: Tx, changed: RunChanged) -> None:
    """Let a session go on into which a person has said something; only what waits behind another run can be that."""
    run = changed.run
    if changed.state != "queued" or not isinstance(run, Run) or run.due_at is not None or is_caused(run):
        return
    _go_on(tx, run.access, run)


def _forget(tx: Tx, stopped: LaneStopped) -> None:
    drop_trace(tx, stopped.access, stopped.key)
