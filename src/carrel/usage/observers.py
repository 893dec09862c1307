"""Adding what a run used to its day, in the transaction that ends the run."""

import msgspec
from msgspec import structs

from carrel.runs import Run, RunChanged, run_by_id
from carrel.storage import Database, Tx
from carrel.usage.model import Spent, tally_of
from carrel.usage.store import add_usage, step_times

_decode = msgspec.json.Decoder(Spent).decode
_ENDED = ("completed", "failed", "cancelled")


def observe_runs(db: Database) -> None:
    """Register the observer that counts what runs use."""
    db.observe(RunChanged, count_usage)


def count_replay(tx: Tx, run: Run, model: str, spent: Spent, milliseconds: int) -> None:
    """Count what one more answer to a run's request has used; it is no run of its own."""
    added = structs.replace(tally_of(spent, milliseconds), runs=0)
    task_id = run.task_id or run.session_key.task_id
    add_usage(tx, run.access, key=run.key, agent_id=run.agent_id, task_id=task_id, model=model, added=added)


def count_usage(tx: Tx, changed: RunChanged) -> None:
    """Count a run that has ended; one that never started has used nothing."""
    if changed.state not in _ENDED:
        return
    access = changed.run.access
    run = run_by_id(tx, access, changed.run.id)
    if run is None or run.started_at is None:
        return
    model, milliseconds = step_times(tx, access, run.id)
    added = tally_of(_decode(run.usage) if run.usage else Spent(), milliseconds)
    task_id = run.task_id or run.session_key.task_id
    add_usage(tx, access, key=run.key, agent_id=run.agent_id, task_id=task_id, model=model, added=added)
