"""Steering: a message that joins the run at work in its lane, and is heard at the next step of its turn.

Until then it waits in the queue like every other message, so nothing is lost with a worker, and a turn that ends before
its next step leaves it there: it becomes a run of its own.
"""

from collections.abc import Callable

from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import Access, Code, Envelope, Refusal, not_found
from carrel.kernel.limits import STEERING_MESSAGES_PER_STEP_MAX
from carrel.runs import queue_store, steering_store, store
from carrel.runs.changes import count_end, publish_change
from carrel.runs.claims import fence
from carrel.runs.model import STEERED, Claim, Run
from carrel.runs.queue import Rules, deliver
from carrel.sessions import lock_lane
from carrel.storage import Tx


def deliver_steering(tx: Tx, access: Access, envelope: Envelope, rules: Rules) -> Run:
    """Deliver a message that joins the run at work in its lane; where none is, or it may not join, an ordinary one."""
    run = deliver(tx, access, envelope, rules)
    if run.state != "queued" or run.due_at is not None or run.steers is not None:
        # It is next, or it is a message that was delivered before.
        return run
    head = queue_store.lane_head(tx, access, run.key)
    if head is None or not head.may_be_joined_by(run):
        return run
    steering_store.aim(tx, access, run.id, head.id)
    aimed = store.run_by_id(tx, access, run.id)
    assert aimed is not None, "its lane is locked"
    return aimed


def steer(tx: Tx, access: Access, run: Run, envelope: Envelope, rules: Rules) -> Run:
    """Deliver a message that joins this run, which must be at work."""
    lock_lane(tx, access, run.key)
    present = store.run_by_id(tx, access, run.id)
    if present is None:
        raise not_found("run")
    _require_work(present)
    sent = deliver_steering(tx, access, envelope, rules)
    if sent.steers != run.id:
        message = "This run may see what you may not, so you cannot steer it; send the message to its session instead."
        raise Refusal(Code.FORBIDDEN, message)
    return sent


def _require_work(run: Run) -> None:
    if run.ended:
        raise Refusal(Code.ALREADY_ENDED, "This run has ended; send the message to its session instead.")
    if run.state == "waiting":
        raise Refusal(Code.CONFLICT, "This run is waiting for an answer: answer it instead.")
    if not run.is_at_work:
        raise Refusal(Code.CONFLICT, "This run has not started; send the message to its session instead.")


def take_up(tx: Tx, claim: Claim, entry_of: Callable[[Run], NewEntry]) -> list[Entry]:
    """Write the messages that wait to join a claimed run into its transcript, each once, and end their own runs.

    `entry_of` returns the entry that a message becomes.
    """
    # The lane is locked before the run, as everywhere.
    lock_lane(tx, claim.access, claim.key)
    if fence(tx, claim) is not None:
        # The turn ends as it was asked to, and the messages stay in the queue.
        return []
    run = store.run_by_id(tx, claim.access, claim.id)
    assert run is not None, "its claim holds"
    messages = steering_store.messages_for(tx, claim, STEERING_MESSAGES_PER_STEP_MAX)
    entries = [_join(tx, message, run, entry_of(message)) for message in messages]
    steering_store.note_taken(tx, claim, more=len(messages) == STEERING_MESSAGES_PER_STEP_MAX)
    return entries


def _join(tx: Tx, message: Run, run: Run, entry: NewEntry) -> Entry:
    written = append_entry(tx, run.access, entry)
    steering_store.join(tx, message, run)
    queue_store.leave_lane(tx, run.access, run.key)
    publish_change(tx, message, "run.completed", state="completed", reason=STEERED, reply=None, steers=run.id)
    count_end(message, "completed", STEERED, tx.now)
    return written
