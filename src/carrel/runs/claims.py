"""Claims: a worker takes the due head of a lane, and every write of its turn is fenced by that claim."""

from carrel.kernel import METRICS
from carrel.kernel.limits import SLOT_POLL_MS
from carrel.runs import queue_store, store
from carrel.runs.changes import publish_change
from carrel.runs.concurrency import UNLIMITED, Concurrency, Heads
from carrel.runs.model import Claim, ClaimLost, RequestedEnd, read_requested_end
from carrel.storage import Tx


def claim(tx: Tx, worker: str, lease_ms: int, limit: int, limits: Concurrency = UNLIMITED) -> list[Claim]:
    """Claim up to `limit` of the oldest due heads of lanes for a worker."""
    return start(tx, Heads(tx, limit, limits).runs, worker, lease_ms)


def claim_or_wait(
    tx: Tx, worker: str, lease_ms: int, limit: int, limits: Concurrency
) -> tuple[list[Claim], int | None]:  # fmt: skip
    """Claim runs; if there are none, also return when to look again, None for whenever one becomes due."""
    heads = Heads(tx, limit, limits)
    if heads.runs:
        return start(tx, heads.runs, worker, lease_ms), None
    due_at = queue_store.next_due(tx)
    if not heads.is_limited or due_at is None or due_at > tx.now:
        return [], due_at
    # Due runs wait for slots. A slot that becomes free here wakes us; for one that becomes free elsewhere we look.
    look_at = tx.now + SLOT_POLL_MS
    return [], min(look_at, queue_store.next_due(tx, after=tx.now) or look_at)


def start(tx: Tx, heads: list[Claim], worker: str, lease_ms: int) -> list[Claim]:
    """Start heads of lanes that may start, and publish and count their start."""
    claimed = queue_store.start(tx, heads, worker, tx.now + lease_ms)
    for run in claimed:
        publish_change(tx, run, "run.started", state="running")
        METRICS.count("runs.started.count", run.account_id, agent=run.agent_id, provenance=run.provenance_kind)
        METRICS.observe(
            "runs.wait.seconds", run.account_id, (tx.now - run.created_at) / 1000, provenance=run.provenance_kind
        )
    return claimed


def fence(tx: Tx, run: Claim) -> RequestedEnd | None:
    """Call it before every write: raise ClaimLost if the claim is over or the run must stop; return a requested end."""
    stop = store.claimed_stop(tx, run)
    if stop is None or stop[0] is not None:
        raise ClaimLost(run.id)
    return read_requested_end(stop[1])
