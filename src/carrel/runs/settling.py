"""From a claim to its end: every write of a worker carries its claim, and a claim that is over writes nothing."""

from carrel.journal import json_text
from carrel.kernel import METRICS, iso
from carrel.runs import store
from carrel.runs.model import Cancelled, ClaimLost, Completed, Failed, NeedsInput, Outcome, Run, retry_delay_ms
from carrel.runs.telling import count_end, tell
from carrel.sessions import lock_lane, note_ending
from carrel.storage import RUNS, Tx


def claim(tx: Tx, worker: str, lease_ms: int, limit: int) -> list[Run]:
    """Start up to `limit` of the oldest due heads of lanes for this worker."""
    claimed = store.claim_due(tx, worker, tx.now + lease_ms, limit)
    for run in claimed:
        tell(tx, run, "run.started", state="running")
        METRICS.count("runs.started.count", agent=run.agent_id, provenance=run.provenance_kind)
        METRICS.observe("runs.wait.seconds", (tx.now - run.created_at) / 1000, provenance=run.provenance_kind)
    return claimed


def fence(tx: Tx, run: Run) -> None:
    """Before any write of a turn: raise unless this very claim still holds."""
    if not store.held_by_claim(tx, run):
        raise ClaimLost(run.id)


def settle(tx: Tx, run: Run, outcome: Outcome) -> None:
    """Write how a turn went and let the lane go on; ClaimLost when somebody else has it by now."""
    match outcome:
        case Completed():
            _end(tx, run, "completed", None, outcome.usage, reply=outcome.reply, note=outcome.note)
        case NeedsInput():
            _park(tx, run, outcome)
        case Cancelled():
            _end(tx, run, "cancelled", outcome.reason, None)
        case Failed(retryable=True) if run.attempt < run.attempts_max:
            _retry(tx, run, outcome)
        case Failed():
            reason = "dead_letter" if outcome.retryable else outcome.reason
            _end(tx, run, "failed", reason, outcome.usage, error_code=outcome.code, error_message=outcome.shown())


def free_lane(tx: Tx, run: Run) -> None:
    """The head of a lane has left it: the next one takes its place."""
    if store.leave_lane(tx, run.access, run.key) > 0:
        promote(tx, run)


def promote(tx: Tx, run: Run) -> None:
    """Make the oldest queued run of a lane its head; the lane must be held and free."""
    if store.promote_next(tx, run.access, run.key):
        tx.wake(RUNS)


def _end(
    tx: Tx, run: Run, state: str, reason: str | None, usage: dict[str, object] | None, *, reply: str | None = None,
    note: str | None = None, error_code: str | None = None, error_message: str | None = None,
) -> None:  # fmt: skip
    # Lane before run, as everywhere.
    left = store.leave_lane(tx, run.access, run.key)
    ended = store.end_claimed(
        tx, run, state=state, reason=reason, reply=reply, note=note, error_code=error_code, error_message=error_message,
        usage=json_text(usage) if usage else None,
    )  # fmt: skip
    if ended is None:
        raise ClaimLost(run.id)
    state, reason = ended
    if usage or state != "completed":
        note_ending(tx, run.access, run.key, state, _tokens(usage))
    more: dict[str, object] = {"reply": reply} if state == "completed" else {}
    if state == "failed":
        more["error"] = {"code": error_code, "message": error_message}
    tell(tx, run, f"run.{state}", state=state, reason=reason, **more)
    count_end(run, state, reason, tx.now)
    if left > 0:
        promote(tx, run)


def _park(tx: Tx, run: Run, outcome: NeedsInput) -> None:
    lock_lane(tx, run.access, run.key)
    usage = json_text(outcome.usage) if outcome.usage else None
    if not store.park_claimed(tx, run, waiting_for=outcome.waiting_for, question=outcome.question, usage=usage):
        _end(tx, run, "cancelled", "stopped", outcome.usage)
        return
    tell(tx, run, "run.waiting", state="waiting", waitingFor=outcome.waiting_for, question=outcome.question)
    free_lane(tx, run)


def _retry(tx: Tx, run: Run, outcome: Failed) -> None:
    delay_ms = retry_delay_ms(run.attempt, tx.chance())
    if outcome.retry_after_seconds is not None:
        delay_ms = max(delay_ms, int(outcome.retry_after_seconds * 1000))
    due_at = tx.now + delay_ms
    lock_lane(tx, run.access, run.key)
    if run.deadline_at is not None and due_at >= run.deadline_at:
        _end(tx, run, "failed", "timeout", outcome.usage, error_code=outcome.code, error_message=outcome.shown())
        return
    if not store.back_to_head(tx, run, due_at=due_at, error_code=outcome.code, error_message=outcome.shown()):
        _end(tx, run, "cancelled", "stopped", outcome.usage)
        return
    error = {"code": outcome.code, "message": outcome.shown()}
    tell(tx, run, "run.retrying", state="queued", error=error, nextAttemptAt=iso(due_at))
    tx.wake(RUNS)


def _tokens(usage: dict[str, object] | None) -> int:
    total = (usage or {}).get("totalTokens", 0)
    return total if isinstance(total, int) else 0
