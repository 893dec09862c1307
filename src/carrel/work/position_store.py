"""The SQL of the order of tasks within their columns: by rank, then by id."""

from carrel.kernel import Access
from carrel.storage import Tx
from carrel.work.model import Status, Task
from carrel.work.store import TASK_TABLE

_COLUMN = f"{TASK_TABLE.select} WHERE account_id = :account AND status = :status AND is_chat = 0 AND id <> :own"


def tasks_beside(
    tx: Tx, access: Access, status: Status, rank: float, task_id: str, own: str, *, above: bool, limit: int
) -> list[Task]:  # fmt: skip
    """Return the tasks of a column next to a (rank, id), nearest first; `own` is left out."""
    sign, order = ("<", "DESC") if above else (">", "ASC")
    beside = f"(sort_index {sign} :rank OR (sort_index = :rank AND id {sign} :task))"
    sql = f"{_COLUMN} AND {beside} ORDER BY sort_index {order}, id {order} LIMIT :limit"
    found = tx.all(sql, access, status=status, rank=rank, task=task_id, own=own, limit=limit)
    return TASK_TABLE.rows(found)


def lowest_rank(tx: Tx, access: Access, status: Status) -> float | None:
    """Return the rank of the first task in a column; None if it is empty."""
    sql = "SELECT min(sort_index) FROM tasks WHERE account_id = :account AND status = :status AND is_chat = 0"
    row = tx.one(sql, access, status=status)
    return None if row is None or row[0] is None else float(row[0])
