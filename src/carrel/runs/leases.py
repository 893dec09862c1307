"""The lifeline: returns the runs of lost workers to their lanes."""

from carrel.kernel import METRICS
from carrel.records import has_written, is_open
from carrel.runs import queue_store, store
from carrel.runs.cancellation import end_without_worker
from carrel.runs.changes import publish_change
from carrel.runs.model import RUNS, Run
from carrel.sessions import lock_lane
from carrel.storage import Tx

_BATCH = 100
_INTERRUPTED = ("interrupted", "The server stopped during this turn, after a tool had changed something.")


def rescue_lost(tx: Tx) -> int:
    """Take back runs whose lease expired; return how many."""
    return sum(_rescue(tx, run) for run in queue_store.lost_runs(tx, _BATCH))


def _rescue(tx: Tx, seen: Run) -> bool:
    lock_lane(tx, seen.access, seen.key)
    run = store.hold_run(tx, seen.access, seen.id)
    if run is None or run.state != "running" or (run.lease_until or 0) > tx.now:
        return False
    METRICS.count("runs.rescued.count", run.account_id)
    if run.stopping is not None:
        end_without_worker(tx, run, "cancelled", run.stopping)
    elif run.wanted_end is None and has_written(tx, run.access, run.id) and not is_open(tx, run.access, run.id):
        # Its tools may have changed something, and a repeat could change it twice: a person decides. A run that only
        # waited for another one can continue to wait, one that waited for an MCP server is told that the outcome of its
        # call is unknown, and one with a requested end does nothing else.
        end_without_worker(tx, run, "failed", "interrupted", _INTERRUPTED)
    elif run.attempt >= run.attempts_max + (run.wanted_end is not None):
        # A requested end needs one more attempt, which takes no step and only applies it.
        lost = ("interrupted", f"The worker of this run was lost {run.attempt} times.")
        end_without_worker(tx, run, "failed", "dead_letter", lost)
    elif run.deadline_at is not None and run.deadline_at <= tx.now:
        end_without_worker(tx, run, "failed", "timeout", ("timeout", "The run took longer than its limit."))
    else:
        store.back_to_head(tx, run, due_at=tx.now, error_code=None, error_message=None)
        publish_change(tx, run, "run.rescued", state="queued")
        tx.wake(RUNS)
    return True
