"""Moving a queued run up in its lane."""

from carrel.kernel import Access, Code, Refusal
from carrel.runs import queue_store, store
from carrel.runs.changes import publish_change
from carrel.runs.model import Run
from carrel.sessions import lock_lane
from carrel.storage import Tx


def advance(tx: Tx, access: Access, run_id: str) -> Run:
    """Move a queued run one position up; one that is about to start, or has started before, is not overtaken."""
    known = store.run_by_id(tx, access, run_id)
    assert known is not None, "the caller has found it"
    lock_lane(tx, access, known.key)
    run = store.hold_run(tx, access, run_id)
    if run is None or run.state != "queued":
        raise Refusal(Code.CONFLICT, "Only a queued run can move up; this one is not queued.")
    other = queue_store.before_in_lane(tx, access, run)
    if other is None:
        raise Refusal(Code.CONFLICT, "This run is the next in its queue already.")
    ahead = store.hold_run(tx, access, other.id)
    if ahead is None or ahead.due_at is not None or ahead.attempt > 0 or run.due_at is not None:
        raise Refusal(Code.CONFLICT, "The run before this one has begun; it goes on first.")
    queue_store.swap_positions(tx, access, run, other)
    moved = store.run_by_id(tx, access, run_id)
    assert moved is not None
    publish_change(tx, moved, "run.queued", state="queued", queuePosition=queue_store.queue_position(tx, moved))
    return moved
