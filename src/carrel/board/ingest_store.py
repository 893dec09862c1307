"""The SQL of entries that were accepted and wait to be stored."""

from msgspec import Struct

from carrel.board.model import NewLog
from carrel.kernel import Access
from carrel.storage import Table, Tx, json_column


class Ingest(Struct, frozen=True, kw_only=True):
    """An entry that waits, and who sent it; its fields are the columns of its table."""

    account_id: str
    seq: int
    id: str
    caller: Access
    log: NewLog
    due_at: int
    attempt: int = 0


_TABLE = Table(
    "ingests", Ingest, key=("account_id", "seq"), codecs={"caller": json_column(Access), "log": json_column(NewLog)}
)
_ONE = "account_id = :account AND seq = :seq"


def insert_ingest(tx: Tx, access: Access, item: Ingest) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(item))


def count_ingests(tx: Tx, access: Access, limit: int) -> int:
    """Return how many entries of an account wait, counted up to a limit."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM ingests WHERE account_id = :account LIMIT :limit) AS waiting"
    return tx.value(sql, access, limit=limit) or 0


def next_ingest_due(tx: Tx) -> int | None:
    """Return when an entry is next due to be stored, in any account."""
    return tx.value("SELECT min(due_at) FROM ingests")


def accounts_with_ingests(tx: Tx, limit: int) -> list[str]:
    """Return accounts with entries that are due to be stored."""
    sql = "SELECT DISTINCT account_id FROM ingests WHERE due_at <= :now ORDER BY account_id LIMIT :limit"
    return [row[0] for row in tx.all(sql, now=tx.now, limit=limit)]


def hold_ingests(tx: Tx, access: Access, *, limit: int) -> list[Ingest]:
    """Return the oldest due entries, locked: other servers wait, so that the order is kept."""
    sql = f"{_TABLE.select} WHERE account_id = :account AND due_at <= :now ORDER BY seq LIMIT :limit FOR UPDATE"
    return _TABLE.rows(tx.all(sql, access, now=tx.now, limit=limit))


def postpone_ingest(tx: Tx, access: Access, seq: int, attempt: int, due_at: int) -> None:
    sql = f"UPDATE ingests SET attempt = :attempt, due_at = :due_at WHERE {_ONE}"
    tx.run(sql, access, seq=seq, attempt=attempt, due_at=due_at)


def delete_ingest(tx: Tx, access: Access, seq: int) -> None:
    tx.run(f"DELETE FROM ingests WHERE {_ONE}", access, seq=seq)
