"""The SQL of extractions: turns that a model must still be asked about."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx, json_column


class Extraction(Struct, frozen=True, kw_only=True):
    """A turn to be asked about, with the chain of scopes that it had; its fields are the columns of its table."""

    account_id: str
    run_id: str
    agent_id: str
    chain: tuple[str, ...]
    gateway: str
    model: str
    due_at: int
    attempt: int = 0


_TABLE = Table("extractions", Extraction, key=("account_id", "run_id"), codecs={"chain": json_column(tuple[str, ...])})
_ONE = "account_id = :account AND run_id = :run_id"
# Several servers look for work at the same time: each passes over what another is taking.
_DUE = f"{_TABLE.select} WHERE due_at <= :now ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED"


def insert_extraction(tx: Tx, access: Access, item: Extraction) -> None:
    tx.run(f"{_TABLE.insert} ON CONFLICT DO NOTHING", access, **_TABLE.values(item))


def next_extraction_due(tx: Tx) -> int | None:
    """Return when a model must next be asked, in any account."""
    row = tx.one("SELECT min(due_at) FROM extractions")
    return None if row is None or row[0] is None else int(row[0])


def extractions_due(tx: Tx, limit: int) -> list[Extraction]:
    """Return turns to ask about now, in any account, locked for the transaction."""
    return _TABLE.rows(tx.all(_DUE, now=tx.now, limit=limit))


def postpone_extraction(tx: Tx, access: Access, run_id: str, attempt: int, due_at: int) -> None:
    """Ask about a turn later, or free it for others after that moment."""
    sql = f"UPDATE extractions SET attempt = :attempt, due_at = :due_at WHERE {_ONE}"
    tx.run(sql, access, run_id=run_id, attempt=attempt, due_at=due_at)


def finish_extraction(tx: Tx, access: Access, run_id: str) -> bool:
    """Forget that a turn was to be asked about; False if another server did so, or its session is gone."""
    return tx.run(f"DELETE FROM extractions WHERE {_ONE}", access, run_id=run_id) > 0
