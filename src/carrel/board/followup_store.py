"""The SQL of follow-ups: delegated runs that have not ended, and when each is checked next."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx


class Followup(Struct, frozen=True, kw_only=True):
    """When a delegated run is checked next, and its state at the last check."""

    account_id: str
    run_id: str
    due_at: int
    seen: str


_TABLE = Table("followups", Followup, key=("account_id", "run_id"))
_SELECT = f"SELECT {_TABLE.columns} FROM followups"
_ONE = "account_id = :account AND run_id = :run_id"


def begin_followup(tx: Tx, access: Access, followup: Followup) -> None:
    """Begin to follow up a run; a requeued run already is."""
    tx.run(f"{_TABLE.insert} ON CONFLICT DO NOTHING", access, **_TABLE.values(followup))


def end_followup(tx: Tx, access: Access, run_id: str) -> None:
    """Stop following up a run."""
    tx.run(f"DELETE FROM followups WHERE {_ONE}", access, run_id=run_id)


def due_followups(tx: Tx, limit: int) -> list[Followup]:
    """Return follow-ups across all accounts that are due now."""
    return _TABLE.rows(tx.all(f"{_SELECT} WHERE due_at <= :now ORDER BY due_at LIMIT :limit", now=tx.now, limit=limit))


def next_followup_due(tx: Tx) -> int | None:
    """Return when a follow-up is next due, across all accounts."""
    row = tx.one("SELECT due_at FROM followups ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def hold_followup(tx: Tx, access: Access, run_id: str) -> Followup | None:
    """Return one follow-up, locked until the end of the transaction; the lane of its run must be locked first."""
    return _TABLE.row(tx.one(f"{_SELECT} WHERE {_ONE} FOR UPDATE", access, run_id=run_id))


def keep_followup(tx: Tx, access: Access, followup: Followup) -> None:
    """Write when a run is checked next, and its current state; this transaction must have locked it."""
    tx.run(_TABLE.update, access, **_TABLE.values(followup))


def postpone_followup(tx: Tx, access: Access, followup: Followup, until: int) -> None:
    """Make a follow-up due later, if it is unchanged."""
    sql = f"UPDATE followups SET due_at = :until WHERE {_ONE} AND due_at = :due_at"
    tx.run(sql, access, run_id=followup.run_id, due_at=followup.due_at, until=until)
