"""The lifeline: returns runs whose worker is gone to their lanes."""

from carrel.kernel import METRICS
from carrel.records import has_written, is_waiting
from carrel.runs import queue_store, store
from carrel.runs.cancellation import end_unheld
from carrel.runs.changes import publish_change
from carrel.runs.model import RUNS, Run
from carrel.sessions import lock_lane
from carrel.storage import Tx

_RUNS_AT_A_TIME = 100


def rescue_lost(tx: Tx) -> int:
    """Take back every run whose lease ran out; how many there were."""
    lost = queue_store.lost_runs(tx, _RUNS_AT_A_TIME)
    return sum(_rescue(tx, run) for run in lost)


def _rescue(tx: Tx, seen: Run) -> bool:
    lock_lane(tx, seen.access, seen.key)
    run = store.hold_run(tx, seen.access, seen.id)
    if run is None or run.state != "running" or (run.lease_until or 0) > tx.now:
        return False
    METRICS.count("runs.rescued.count")
    if run.stopping is not None:
        end_unheld(tx, run, "cancelled", run.stopping)
    elif run.wanted_end is None and has_written(tx, run.access, run.id) and not is_waiting(tx, run.access, run.id):
        # Its tools may have changed the world half way: a repeat could do it twice. A person decides. Who only waited
        # for another run was in the middle of nothing, and goes on waiting; who asked for its end does nothing else.
        end_unheld(
            tx,
            run,
            "failed",
            "interrupted",
            ("interrupted", "The server stopped in the middle of this turn after it had changed something."),
        )
    elif run.attempt >= run.attempts_max + (run.wanted_end is not None):
        # An end that was asked for needs one attempt more, which takes no step and only comes to it.
        end_unheld(
            tx, run, "failed", "dead_letter", ("interrupted", f"The worker of this run was lost {run.attempt} times.")
        )
    elif run.deadline_at is not None and run.deadline_at <= tx.now:
        end_unheld(tx, run, "failed", "timeout", ("timeout", "The run took longer than its limit."))
    else:
        store.back_to_head(tx, run, due_at=tx.now, error_code=None, error_message=None)
        publish_change(tx, run, "run.rescued", state="queued")
        tx.wake(RUNS)
    return True
