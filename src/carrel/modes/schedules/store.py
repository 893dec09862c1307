"""The SQL of schedules. A schedule is locked before it is changed, so that only one of several servers fires it."""

from carrel.kernel import Access
from carrel.modes.schedules.model import SCHEDULES, Schedule
from carrel.storage import Table, Tx, json_column
from carrel.visibility import seen_of_sessions

_TABLE = Table("schedules", Schedule, also=("due_at",), codecs={"space_ids": json_column(tuple[str, ...])})
_SELECT = f"SELECT {_TABLE.columns_of('s')} FROM schedules s"
# The run has ended, is waiting, or was deleted with its lane, and the schedule has not recorded it yet.
_RESTED = (
    "s.last_status IN ('queued', 'waiting') AND (r.id IS NULL OR r.state IN ('completed', 'failed', 'cancelled') "
    "OR (r.state = 'waiting' AND s.last_status = 'queued'))"
)


def insert_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    """Write a new schedule."""
    tx.run(_TABLE.insert, access, due_at=schedule.due_at, **_TABLE.values(schedule))
    tx.wake(SCHEDULES)


def keep_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    """Write the current state of a schedule; this transaction must have locked it."""
    tx.run(_TABLE.update, access, due_at=schedule.due_at, **_TABLE.values(schedule) | {"updated_at": tx.now})
    tx.wake(SCHEDULES)


def delete_schedule(tx: Tx, access: Access, schedule_id: str) -> None:
    """Delete a schedule."""
    tx.run("DELETE FROM schedules WHERE account_id = :account AND id = :id", access, id=schedule_id)
    tx.wake(SCHEDULES)


def schedule_by_id(tx: Tx, access: Access, schedule_id: str, *, hold: bool = False) -> Schedule | None:
    """Return one schedule; `hold` locks it (lock its lane first)."""
    sql = f"{_SELECT} WHERE s.account_id = :account AND s.id = :id{' FOR UPDATE' if hold else ''}"
    return _TABLE.row(tx.one(sql, access, id=schedule_id))


def schedules_of(tx: Tx, access: Access, key: str, *, after: str = "", limit: int) -> list[Schedule]:
    """Return the schedules of one session, oldest first."""
    sql = f"{_SELECT} WHERE s.account_id = :account AND s.key = :key AND s.id > :after ORDER BY s.id LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, key=key, after=after, limit=limit))


def schedules_seen(tx: Tx, access: Access, *, after: str = "", limit: int) -> list[Schedule]:
    """Return the schedules of all sessions that the caller may see, oldest first."""
    seen, values = seen_of_sessions(tx, access, table="s")
    sql = f"{_SELECT} WHERE s.account_id = :account AND {seen} AND s.id > :after ORDER BY s.id LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, after=after, limit=limit, **values))


def count_schedules(tx: Tx, access: Access) -> int:
    """Return how many schedules the account has."""
    return tx.value("SELECT count(*) FROM schedules WHERE account_id = :account", access) or 0


def schedules_to_move(tx: Tx, limit: int) -> list[Schedule]:
    """Return schedules across all accounts that are due, or whose run has ended or is waiting. Locks none."""
    runs = f"{_SELECT} LEFT JOIN runs r ON r.account_id = s.account_id AND r.id = s.run_id"
    rested = tx.all(f"{runs} WHERE {_RESTED} LIMIT :limit", limit=limit)
    due = tx.all(f"{_SELECT} WHERE s.due_at <= :now ORDER BY s.due_at LIMIT :limit", now=tx.now, limit=limit)
    return _TABLE.rows(rested + due)


def next_schedule_due(tx: Tx) -> int | None:
    """Return when the next schedule is due, across all accounts."""
    return tx.value("SELECT due_at FROM schedules WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")


def put_off(tx: Tx, access: Access, schedule_id: str, until: int) -> None:
    """Postpone a due schedule that could not be advanced, and change nothing else about it."""
    sql = "UPDATE schedules SET due_at = :until WHERE account_id = :account AND id = :id AND due_at <= :now"
    tx.run(sql, access, id=schedule_id, until=until, now=tx.now)
