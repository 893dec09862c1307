"""What exchanges do when a run ends or is retried, or its lane is stopped, in the transaction of that change."""

from carrel.exchanges import store
from carrel.exchanges.model import Exchange
from carrel.runs import LaneStopped, RunChanged, RunRetried
from carrel.storage import Database, Tx

# Only runs of these kinds can belong to an exchange, so other runs save the query.
_KINDS = ("inter_session", "reply_back", "announce", "spawn")
_ENDS = ("completed", "failed", "cancelled")
# What a retry's exchange inherits from the earlier one.
_KEPT = (
    "account_id", "kind", "requester_key", "requester_session_id", "requester_run_id", "target_key", "rounds_max",
    "cleanup", "wakes",
)  # fmt: skip


def observe_runs(db: Database) -> None:
    """Register the observers of runs."""
    db.observe(RunChanged, _note_end)
    db.observe(RunRetried, _follow_retry)
    db.observe(LaneStopped, _mute)


def _note_end(tx: Tx, changed: RunChanged) -> None:
    run = changed.run
    if changed.state in _ENDS and run.provenance_kind in _KINDS:
        store.note_run_ended(tx, run.access, run.id)


def _follow_retry(tx: Tx, retried: RunRetried) -> None:
    """Begin the same exchange for the retry, so that the requester gets that result too."""
    access, again = retried.run.access, retried.again
    known = store.exchange_after(tx, access, retried.run.id)
    if known is None:
        return
    kept = {name: getattr(known, name) for name in _KEPT}
    exchange = Exchange(
        **kept, id=tx.new_id("exc"), first_run_id=again.id, current_run_id=again.id, created_at=tx.now
    )  # fmt: skip
    store.begin_exchange(tx, access, exchange)


def _mute(tx: Tx, stopped: LaneStopped) -> None:
    store.silence_exchanges(tx, stopped.access, stopped.key)
