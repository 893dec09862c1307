"""Outcomes: the end of a turn is written under its claim, and its lane continues. A lost claim writes nothing."""

from collections.abc import Callable
from functools import partial

from carrel.journal import json_text
from carrel.kernel import iso
from carrel.runs import queue_store, store, unreachable_store
from carrel.runs.changes import count_end, publish_change
from carrel.runs.claims import start
from carrel.runs.concurrency import UNLIMITED, Concurrency, Heads
from carrel.runs.concurrency_store import next_head
from carrel.runs.faults import Fault
from carrel.runs.model import (
    RUNS,
    Cancelled,
    Claim,
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    read_requested_end,
)
from carrel.runs.requested_ends import apply_requested_end
from carrel.runs.retries import retry_delay_ms, unreachable_delay_ms
from carrel.sessions import note_tokens
from carrel.storage import Tx

# Stands in for the store's reason when a run may no longer be answered.
_STOPPED = Cancelled(reason="interrupted")


# How a turn ended; or a function that writes its last entries in the transaction that ends the run, and returns it.
Ending = Outcome | Callable[[Tx], Outcome]


def settle(tx: Tx, run: Claim, outcome: Ending) -> None:
    """Write the outcome of a turn and free its lane. Raise ClaimLost, writing nothing, if the claim is lost."""
    left = _write(tx, run, outcome)
    if left is None:
        raise ClaimLost(run.id)
    if left:
        promote(tx, run)


def settle_and_claim(
    tx: Tx, ended: list[tuple[Claim, Ending]], worker: str, lease_ms: int, limits: Concurrency = UNLIMITED
) -> list[Claim]:  # fmt: skip
    """Write the outcomes of several turns and claim up to as many runs; a lost claim writes nothing.

    Runs that were already due come first. Then the next run of each freed lane starts directly: making it due first
    would update it twice.
    """
    freed = [run for run, outcome in ended if _write(tx, run, outcome)]
    if not limits.any:
        tx.prefetch(
            lambda: Heads(tx, len(ended), limits), *(partial(next_head, tx, run.access, run.key) for run in freed)
        )
    heads = Heads(tx, len(ended), limits)
    for run in freed:
        head = None if heads.is_full else next_head(tx, run.access, run.key)
        if heads.is_full or (head is not None and not heads.add(head)):
            promote(tx, run)
    return start(tx, heads.runs, worker, lease_ms)


def free_lane(tx: Tx, run: Claim) -> None:
    """Remove the head from its lane and promote the next run."""
    queue_store.leave_lane(tx, run.access, run.key)
    promote(tx, run)


def promote(tx: Tx, run: Claim) -> None:
    """Make the oldest queued run of a lane its head; the lane must be locked and free."""
    if queue_store.promote_next(tx, run.access, run.key):
        tx.wake(RUNS)


def _write(tx: Tx, run: Claim, outcome: Ending) -> bool | None:
    """Write an outcome: True if the run left its lane, False if it stays the head, None if the claim is lost."""
    # Lanes are always locked before runs, so that two transactions cannot deadlock.
    queue_store.leave_lane(tx, run.access, run.key)
    left = _write_run(tx, run, _written(tx, outcome))
    if not left:
        queue_store.stay_in_lane(tx, run.access, run.key)
    return left


def _written(tx: Tx, outcome: Ending) -> Outcome:
    """The outcome, after writing its last entries; they are dropped if the claim is lost or the run was stopped."""
    if not callable(outcome):
        return outcome
    try:
        return outcome(tx)
    except ClaimLost:
        return _STOPPED


def _write_run(tx: Tx, run: Claim, outcome: Outcome) -> bool | None:
    """Write the outcome of a run that already left its lane; returns what `_write` returns."""
    stop = store.claimed_stop(tx, run)
    if stop is None:
        return None
    if stop[0] is not None:
        # Drop whatever the turn produced after the stop.
        outcome = Cancelled(reason=stop[0])
    elif (end := read_requested_end(stop[1])) is not None:
        outcome = apply_requested_end(tx, run, end, outcome)
    match outcome:
        case Completed():
            _end(tx, run, "completed", None, outcome.usage, reply=outcome.reply, note=outcome.note)
        case NeedsInput():
            _park(tx, run, outcome)
        case Cancelled():
            _end(tx, run, "cancelled", outcome.reason, None)
        case Failed() if _hold(tx, run, outcome) or _wait_for_gateway(tx, run, outcome) or _retry(tx, run, outcome):
            return False
        case Failed():
            exhausted = _counts(outcome) and run.attempt >= run.attempts_max
            reason = "dead_letter" if exhausted else "timeout" if outcome.retryable else outcome.reason
            _end(tx, run, "failed", reason, outcome.usage, error_code=outcome.code, error_message=outcome.shown())
    return True


def _end(
    tx: Tx, run: Claim, state: str, reason: str | None, usage: dict[str, object] | None, *, reply: str | None = None,
    note: str | None = None, error_code: str | None = None, error_message: str | None = None,
) -> None:  # fmt: skip
    store.end_claimed(
        tx, run, state=state, reason=reason, reply=reply, note=note, error_code=error_code, error_message=error_message,
        usage=_stored(usage),
        # A reply is a change of its own: A2A shows it as the last artifact before the end.
        changes=2 if reply else 1,
    )  # fmt: skip
    if _tokens(usage):
        note_tokens(tx, run.access, run.key, _tokens(usage))
    more: dict[str, object] = {"reply": reply} if state == "completed" else {}
    if state == "failed":
        more["error"] = {"code": error_code, "message": error_message}
    publish_change(tx, run, f"run.{state}", state=state, reason=reason, **more)
    count_end(run, state, reason, tx.now)


def _park(tx: Tx, run: Claim, outcome: NeedsInput) -> None:
    usage = _stored(outcome.usage)
    store.park_claimed(tx, run, waiting_for=outcome.waiting_for, question=outcome.question, usage=usage)
    publish_change(tx, run, "run.waiting", state="waiting", waitingFor=outcome.waiting_for, question=outcome.question)


def _retry(tx: Tx, run: Claim, outcome: Failed) -> bool:
    """Requeue the run at the head of its lane; False if no attempt is left or the next would miss the deadline."""
    if not _counts(outcome) or run.attempt >= run.attempts_max:
        return False
    delay_ms = max(retry_delay_ms(run.attempt, tx.chance()), int((outcome.retry_after_seconds or 0) * 1000))
    due_at = tx.now + delay_ms
    if run.deadline_at is not None and due_at >= run.deadline_at:
        return False
    store.back_to_head(
        tx, run, due_at=due_at, error_code=outcome.code, error_message=outcome.shown(), usage=_stored(outcome.usage)
    )
    _publish_retry(tx, run, outcome, due_at, None)
    return True


def _wait_for_gateway(tx: Tx, run: Claim, outcome: Failed) -> bool:
    """Let a run wait for an unreachable gateway; False if it has waited as long as it may."""
    if outcome.unreachable_gateway is None:
        return False
    since = unreachable_store.unreachable_since(tx, run) or tx.now
    due_at = tx.now + unreachable_delay_ms(tx.now - since, tx.chance())
    give_up_at = run.deadline_at if run.patience_ms == 0 else run.patience_ms and since + run.patience_ms
    if give_up_at is not None and due_at >= give_up_at:
        return False
    _wait(tx, run, outcome, due_at, gateway=outcome.unreachable_gateway, since=since)
    _publish_retry(tx, run, outcome, due_at, since)
    return True


def _hold(tx: Tx, run: Claim, outcome: Failed) -> bool:
    """Hold a run for a budget or a loop; False if its sender does not wait that long."""
    if outcome.held_for is None:
        return False
    if run.patience_ms == 0 and run.deadline_at is not None and outcome.held_until >= run.deadline_at:
        return False
    _wait(tx, run, outcome, outcome.held_until, held_for=outcome.held_for)
    publish_change(
        tx, run, "run.held", state="queued", attemptsMax=run.attempts_max, nextAttemptAt=iso(outcome.held_until),
        error={"code": outcome.code, "message": outcome.shown()}, note=outcome.shown(),
    )  # fmt: skip
    return True


def _wait(
    tx: Tx, run: Claim, outcome: Failed, due_at: int, *, held_for: str | None = None, gateway: str | None = None,
    since: int | None = None,
) -> None:  # fmt: skip
    store.wait_uncounted(
        tx, run, due_at=due_at, error_code=outcome.code, error_message=outcome.shown(),
        usage=_stored(outcome.usage), held_for=held_for, gateway=gateway, since=since,
    )  # fmt: skip


def _counts(outcome: Failed) -> bool:
    """Whether the outcome is a failed attempt that counts and may be followed by another."""
    return outcome.retryable and outcome.unreachable_gateway is None


def _publish_retry(tx: Tx, run: Claim, outcome: Failed, due_at: int, unreachable_since: int | None) -> None:
    error = {"code": outcome.code, "message": outcome.shown()}
    fault = Fault(
        attempt=run.attempt, attempts_max=run.attempts_max, at=tx.now, next_attempt_at=due_at,
        unreachable_since=unreachable_since, code=outcome.code, message=outcome.shown(),
    )  # fmt: skip
    publish_change(
        tx, run, "run.retrying", state="queued", attemptsMax=run.attempts_max, error=error, nextAttemptAt=iso(due_at),
        unreachableSince=iso(unreachable_since), note=fault.told(),
    )  # fmt: skip


def _stored(usage: dict[str, object] | None) -> str | None:
    return json_text(usage) if usage else None


def _tokens(usage: dict[str, object] | None) -> int:
    total = (usage or {}).get("totalTokens", 0)
    return total if isinstance(total, int) else 0
