"""What exchanges do when a run ends or is retried, or its lane is stopped, in the transaction of that change."""

from carrel.exchanges import store
from carrel.exchanges.model import Exchange
from carrel.runs import LaneStopped, RunChanged, RunRetried
from carrel.storage import Database, Tx

# Only runs of these kinds can belong to an exchange, so other runs save the query.
_KINDS = ("inter_session", "reply_back", "announce", "spawn")
_ENDS = ("completed", "failed", "cancelled")


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
    exchange = Exchange(
        account_id=known.account_id,
        id=tx.new_id("exc"),
        kind=known.kind,
        requester_key=known.requester_key,
        requester_session_id=known.requester_session_id,
        requester_run_id=known.requester_run_id,
        target_key=known.target_key,
        first_run_id=again.id,
        current_run_id=again.id,
        rounds_max=known.rounds_max,
        cleanup=known.cleanup,
        wakes=known.wakes,
        created_at=tx.now,
    )
    store.begin_exchange(tx, access, exchange)


def _mute(tx: Tx, stopped: LaneStopped) -> None:
    store.silence_exchanges(tx, stopped.access, stopped.key)
