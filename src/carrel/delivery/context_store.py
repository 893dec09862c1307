"""The SQL of contexts: the lines that each run was shown, and the runs that were shown a memory."""

from collections.abc import Sequence

from msgspec import Struct, structs

from carrel.delivery.context import MEMORY, ContextItem
from carrel.kernel import Access, iso
from carrel.kernel.limits import MEMORY_READS_MAX
from carrel.runs import Claim
from carrel.sessions import seen_lanes
from carrel.storage import Table, Tx

_TABLE = Table("context_items", ContextItem, key=("account_id", "run_id", "position"))


class MemoryRead(Struct, frozen=True, kw_only=True, rename="camel"):
    """A run that was shown a memory."""

    run_id: str
    session_key: str
    at: str | None


def insert_context(tx: Tx, access: Access, run: Claim, items: Sequence[ContextItem]) -> None:
    """Record what a run is shown, in its order."""
    of_run: dict[str, object] = {"account": access.account_id, "run_id": run.id}
    tx.run_many(_TABLE.insert, [of_run | {"position": at} | structs.asdict(item) for at, item in enumerate(items)])


def context_of(tx: Tx, access: Access, run_id: str) -> list[ContextItem]:
    """Return what a run is shown."""
    where = "account_id = :account AND run_id = :run_id ORDER BY position"
    return _TABLE.rows(tx.all(f"SELECT {_TABLE.columns} FROM context_items WHERE {where}", access, run_id=run_id))


def reads_of_memory(tx: Tx, access: Access, memory_id: str) -> list[MemoryRead]:
    """Return the newest runs that were shown a memory, of those whose session the caller may see."""
    seen, values = seen_lanes(tx, access)
    sql = (
        "SELECT r.id, r.key, s.sent_at FROM context_items c "
        "JOIN runs r ON r.account_id = c.account_id AND r.id = c.run_id "
        "JOIN steps s ON s.account_id = c.account_id AND s.run_id = c.run_id AND s.n = 1 "
        "JOIN lanes l ON l.account_id = c.account_id AND l.key = r.key "
        f"WHERE c.account_id = :account AND c.kind = '{MEMORY}' AND c.id = :memory_id AND {seen} "
        "ORDER BY c.run_id DESC LIMIT :limit"
    )
    rows = tx.all(sql, access, memory_id=memory_id, limit=MEMORY_READS_MAX, **values)
    return [MemoryRead(run_id=row[0], session_key=row[1], at=iso(row[2])) for row in rows]
