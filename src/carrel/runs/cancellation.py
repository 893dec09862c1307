"""Cancelling: a queued or waiting run ends at once; a running one is asked to stop and ends with its turn."""

from carrel.kernel import Access
from carrel.runs import queue_store, store
from carrel.runs.changes import LaneStopped, count_end, publish_change
from carrel.runs.model import STOPS, Run, require_move
from carrel.runs.outcomes import free_lane
from carrel.sessions import children_of, lock_lane
from carrel.storage import Tx


def cancel(tx: Tx, access: Access, run_id: str, reason: str) -> Run | None:
    """Cancel a run; None if it has already ended. A running one is ended by its worker, unless that is lost."""
    known = store.run_by_id(tx, access, run_id)
    if known is None or known.ended:
        return None
    # Lanes are always locked before runs; a claim locks only the run, so the two cannot deadlock.
    lock_lane(tx, access, known.key)
    run = store.hold_run(tx, access, run_id)
    if run is None or run.ended:
        return None
    if run.state == "running" and (run.lease_until or 0) > tx.now:
        store.ask_to_stop(tx, access, run.id, reason)
        tx.wake(STOPS)
    else:
        end_without_worker(tx, run, "cancelled", reason)
    return store.run_by_id(tx, access, run_id)


def end_without_worker(tx: Tx, run: Run, state: str, reason: str, error: tuple[str, str] | None = None) -> None:
    """End a run that has no worker and promote the next run of its lane."""
    require_move(run.state, state)
    code, message = error or (None, None)
    store.end_unclaimed(tx, run.access, run.id, state=state, reason=reason, error_code=code, error_message=message)
    more = {"error": {"code": code, "message": message}} if error else {}
    publish_change(tx, run, f"run.{state}", state=state, reason=reason, **more)
    count_end(run, state, reason, tx.now)
    if run.state == "waiting":
        return
    was_head = run.due_at is not None or run.state == "running"
    if was_head:
        free_lane(tx, run)
    else:
        queue_store.leave_lane(tx, run.access, run.key)


def stop_lane(tx: Tx, access: Access, key: str, reason: str, *, descendants: bool = True) -> list[str]:
    """Cancel all runs of a lane and of the lanes spawned from it; return the ids of the runs."""
    lock_lane(tx, access, key)
    # Newest first: the head goes last, so that no run behind it is promoted meanwhile.
    live = reversed(queue_store.live_runs_of_lane(tx, access, key))
    stopped = [run.id for run in live if cancel(tx, access, run.id, reason) is not None]
    tx.publish(LaneStopped(access, key))
    for child in children_of(tx, access, key) if descendants else []:
        stopped += stop_lane(tx, access, child, reason)
    return stopped
