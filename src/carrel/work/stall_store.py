"""The SQL of stalls: tasks in progress on which nobody works."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx


class Stall(Struct, frozen=True, kw_only=True):
    """A task whose last run has ended, how often its agent was reminded, and when next; None: a person must act."""

    account_id: str
    task_id: str
    run_id: str
    taken_up: int
    due_at: int | None


_TABLE = Table("stalls", Stall, key=("account_id", "task_id"))


def put_stall(tx: Tx, access: Access, stall: Stall) -> None:
    """Write the stall of a task, replacing an earlier one."""
    known = (
        "ON CONFLICT (account_id, task_id) DO UPDATE SET run_id = excluded.run_id, taken_up = excluded.taken_up, "
        "due_at = excluded.due_at"
    )
    tx.run(f"{_TABLE.insert} {known}", access, **_TABLE.values(stall))


def stall_of(tx: Tx, access: Access, task_id: str) -> Stall | None:
    """Return the stall of a task."""
    sql = f"SELECT {_TABLE.columns} FROM stalls WHERE account_id = :account AND task_id = :task_id"
    return _TABLE.row(tx.one(sql, access, task_id=task_id))


def delete_stall(tx: Tx, access: Access, task_id: str) -> None:
    """Forget the stall of a task."""
    tx.run("DELETE FROM stalls WHERE account_id = :account AND task_id = :task_id", access, task_id=task_id)


def stalls_due(tx: Tx, limit: int) -> list[Stall]:
    """Return stalls across all accounts that are due now."""
    sql = f"SELECT {_TABLE.columns} FROM stalls WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _TABLE.rows(tx.all(sql, now=tx.now, limit=limit))


def next_stall_due(tx: Tx) -> int | None:
    """Return when the next reminder is due, across all accounts."""
    row = tx.one("SELECT due_at FROM stalls WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def postpone_stall(tx: Tx, access: Access, task_id: str, until: int) -> None:
    """Postpone a stall."""
    sql = "UPDATE stalls SET due_at = :until WHERE account_id = :account AND task_id = :task_id"
    tx.run(sql, access, task_id=task_id, until=until)
