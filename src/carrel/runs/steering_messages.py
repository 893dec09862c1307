"""Steering: a message joins the working run of its lane and is read at the next step of its turn.

Until then it waits in the queue like any other message, so a lost worker loses nothing; if the turn ends before its
next step, the message becomes a run of its own.
"""

from collections.abc import Callable

from msgspec import structs

from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import AT_WORK, Access, Code, Refusal, not_found
from carrel.kernel.limits import STEERING_MESSAGES_PER_STEP_MAX
from carrel.runs import queue_store, steering_message_store, store
from carrel.runs.changes import count_end, publish_change
from carrel.runs.claims import fence
from carrel.runs.model import STEERED, Claim, Run
from carrel.sessions import lock_lane
from carrel.storage import Tx


def aim(tx: Tx, access: Access, run: Run, at: str) -> Run:
    """Let a just queued message join the working run of its lane; Refusal if it must join another one.

    `at` names that run, or is AT_WORK for whichever is working; if there is none, or it may not join, it stays an
    ordinary message.
    """
    head = queue_store.lane_head(tx, access, run.key)
    target = head if at == AT_WORK else store.run_by_id(tx, access, at)
    if at != AT_WORK:
        _require_work(target)
    if target is None or head is None or head.id != target.id or run.due_at is not None:
        return run
    if not head.may_be_joined_by(run):
        if at == AT_WORK:
            return run
        message = "This run may see what you may not, so you cannot steer it; send the message to its session instead."
        raise Refusal(Code.FORBIDDEN, message)
    steering_message_store.aim(tx, access, run.id, head.id)
    return structs.replace(run, steers=head.id)


def _require_work(run: Run | None) -> None:
    if run is None:
        raise not_found("run")
    if run.ended:
        raise Refusal(Code.ALREADY_ENDED, "This run has ended; send the message to its session instead.")
    if run.state == "waiting":
        raise Refusal(Code.CONFLICT, "This run is waiting for an answer: answer it instead.")
    if not run.is_at_work:
        raise Refusal(Code.CONFLICT, "This run has not started; send the message to its session instead.")


def take_up(tx: Tx, claim: Claim, entry_of: Callable[[Run], NewEntry]) -> list[Entry]:
    """Write the messages that wait to join a claimed run as the entries that `entry_of` returns; end their own runs."""
    # Lanes are always locked before runs.
    lock_lane(tx, claim.access, claim.key)
    if fence(tx, claim) is not None:
        # The turn ends as requested, and the messages stay in the queue.
        return []
    run = store.run_by_id(tx, claim.access, claim.id)
    assert run is not None, "its claim holds"
    messages = steering_message_store.messages_for(tx, claim.access, claim.id, STEERING_MESSAGES_PER_STEP_MAX)
    entries = [_join(tx, message, run, entry_of(message)) for message in messages]
    steering_message_store.note_taken(tx, claim.access, claim.id, more=len(messages) == STEERING_MESSAGES_PER_STEP_MAX)
    return entries


def _join(tx: Tx, message: Run, run: Run, entry: NewEntry) -> Entry:
    written = append_entry(tx, run.access, entry)
    steering_message_store.join(tx, run.access, message, run)
    queue_store.leave_lane(tx, run.access, run.key)
    publish_change(tx, message, "run.completed", state="completed", reason=STEERED, reply=None, steers=run.id)
    count_end(message, "completed", STEERED, tx.now)
    return written
