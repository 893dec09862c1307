"""From a claim to its end: every write of a worker carries its claim, and a claim that is over writes nothing."""

from carrel.journal import json_text
from carrel.kernel import METRICS, iso
from carrel.runs import queue_store, store
from carrel.runs.changes import count_end, publish_change
from carrel.runs.model import RUNS, Cancelled, Claim, ClaimLost, Completed, Failed, NeedsInput, Outcome
from carrel.runs.retries import retry_delay_ms
from carrel.runs.wanted_ends import WantedEnd, come_to, wanted_end
from carrel.sessions import note_tokens
from carrel.storage import Tx


def claim(tx: Tx, worker: str, lease_ms: int, limit: int) -> list[Claim]:
    """Start up to `limit` of the oldest due heads of lanes for this worker."""
    return _started(tx, queue_store.claim_due(tx, worker, tx.now + lease_ms, limit))


def fence(tx: Tx, run: Claim) -> WantedEnd | None:
    """Before any write of a turn: raise unless this very claim still holds and nobody asked it to stop.

    Gives the end that a call has asked for, if one has.
    """
    stop = store.claimed_stop(tx, run)
    if stop is None or stop[0] is not None:
        raise ClaimLost(run.id)
    return wanted_end(stop[1])


def settle(tx: Tx, run: Claim, outcome: Outcome) -> None:
    """Write how a turn went and let the lane go on; ClaimLost, with nothing written, when the claim is over."""
    left = _leave(tx, run, outcome)
    if left is None:
        raise ClaimLost(run.id)
    if left:
        promote(tx, run)


def hand_on(tx: Tx, ended: list[tuple[Claim, Outcome]], worker: str, lease_ms: int) -> list[Claim]:
    """Write how several turns went and start up to as many others; one whose claim is over writes nothing.

    What was due before comes first. Then the lanes that were freed go on: their next run starts from where it stands,
    since making it due only to claim it would change it twice.
    """
    freed = [run for run, outcome in ended if _leave(tx, run, outcome)]
    lease_until = tx.now + lease_ms
    claimed = queue_store.claim_due(tx, worker, lease_until, len(ended))
    following: list[Claim] = []
    for run in freed:
        if len(claimed) + len(following) == len(ended):
            promote(tx, run)
        elif (head := queue_store.next_in_lane(tx, run.access, run.key)) is not None:
            following.append(head)
    return _started(tx, claimed + queue_store.start(tx, following, worker, lease_until))


def free_lane(tx: Tx, run: Claim) -> None:
    """The head of a lane has left it: the next one takes its place."""
    queue_store.leave_lane(tx, run.access, run.key)
    promote(tx, run)


def promote(tx: Tx, run: Claim) -> None:
    """Make the oldest queued run of a lane its head; the lane must be held and free."""
    if queue_store.promote_next(tx, run.access, run.key):
        tx.wake(RUNS)


def _leave(tx: Tx, run: Claim, outcome: Outcome) -> bool | None:
    """Write the outcome: True when the run left its lane, False when it stays its head, None when the claim is over."""
    # Lane before run, as everywhere: whoever waits for another waits in the same order.
    queue_store.leave_lane(tx, run.access, run.key)
    left = _write(tx, run, outcome)
    if not left:
        queue_store.stay_in_lane(tx, run.access, run.key)
    return left


def _started(tx: Tx, claimed: list[Claim]) -> list[Claim]:
    for run in claimed:
        publish_change(tx, run, "run.started", state="running")
        METRICS.count("runs.started.count", agent=run.agent_id, provenance=run.provenance_kind)
        METRICS.observe("runs.wait.seconds", (tx.now - run.created_at) / 1000, provenance=run.provenance_kind)
    return claimed


def _write(tx: Tx, run: Claim, outcome: Outcome) -> bool | None:
    """Write the outcome of a run that was counted out of its lane; what it gives, `_leave` gives on."""
    # The common way first: the statement itself checks the claim, and only what it did not match is looked at closer.
    if isinstance(outcome, Completed) and _complete(tx, run, outcome):
        return True
    stop = store.claimed_stop(tx, run)
    if stop is None:
        return None
    if stop[0] is not None:
        # Whatever the turn still brought: nothing said after the stop is kept.
        outcome = Cancelled(reason=stop[0])
    elif (end := wanted_end(stop[1])) is not None:
        outcome = come_to(tx, run, end, outcome)
    match outcome:
        case NeedsInput():
            _park(tx, run, outcome)
        case Cancelled():
            _end(tx, run, "cancelled", outcome.reason, None)
        case Failed() if _retry(tx, run, outcome):
            return False
        case Failed():
            exhausted = outcome.retryable and run.attempt >= run.attempts_max
            reason = "dead_letter" if exhausted else "timeout" if outcome.retryable else outcome.reason
            _end(tx, run, "failed", reason, outcome.usage, error_code=outcome.code, error_message=outcome.shown())
    return True


def _complete(tx: Tx, run: Claim, outcome: Completed) -> bool:
    return _end(tx, run, "completed", None, outcome.usage, reply=outcome.reply, note=outcome.note)


def _end(
    tx: Tx, run: Claim, state: str, reason: str | None, usage: dict[str, object] | None, *, reply: str | None = None,
    note: str | None = None, error_code: str | None = None, error_message: str | None = None,
) -> bool:  # fmt: skip
    if not store.end_claimed(
        tx, run, state=state, reason=reason, reply=reply, note=note, error_code=error_code, error_message=error_message,
        usage=json_text(usage) if usage else None,
        # A reply is a change of its own: over A2A it is shown as the last artifact before the end.
        changes=2 if reply else 1,
    ):  # fmt: skip
        return False
    if _tokens(usage):
        note_tokens(tx, run.access, run.key, _tokens(usage))
    more: dict[str, object] = {"reply": reply} if state == "completed" else {}
    if state == "failed":
        more["error"] = {"code": error_code, "message": error_message}
    publish_change(tx, run, f"run.{state}", state=state, reason=reason, **more)
    count_end(run, state, reason, tx.now)
    return True


def _park(tx: Tx, run: Claim, outcome: NeedsInput) -> None:
    usage = json_text(outcome.usage) if outcome.usage else None
    store.park_claimed(tx, run, waiting_for=outcome.waiting_for, question=outcome.question, usage=usage)
    publish_change(tx, run, "run.waiting", state="waiting", waitingFor=outcome.waiting_for, question=outcome.question)


def _retry(tx: Tx, run: Claim, outcome: Failed) -> bool:
    """Back to the head of the lane until the next attempt; False when there is none, or only after the time limit."""
    if not outcome.retryable or run.attempt >= run.attempts_max:
        return False
    delay_ms = max(retry_delay_ms(run.attempt, tx.chance()), int((outcome.retry_after_seconds or 0) * 1000))
    due_at = tx.now + delay_ms
    if run.deadline_at is not None and due_at >= run.deadline_at:
        return False
    usage = json_text(outcome.usage) if outcome.usage else None
    store.back_to_head(tx, run, due_at=due_at, error_code=outcome.code, error_message=outcome.shown(), usage=usage)
    error = {"code": outcome.code, "message": outcome.shown()}
    publish_change(tx, run, "run.retrying", state="queued", error=error, nextAttemptAt=iso(due_at))
    return True


def _tokens(usage: dict[str, object] | None) -> int:
    total = (usage or {}).get("totalTokens", 0)
    return total if isinstance(total, int) else 0
