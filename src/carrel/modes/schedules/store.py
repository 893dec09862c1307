"""The SQL of schedules. A schedule is locked before it is changed, so that only one of several servers fires it."""

from carrel.kernel import Access
from carrel.modes.schedules.model import Schedule
from carrel.storage import Due, Table, Tx, json_column
from carrel.visibility import seen_of_sessions

_TABLE = Table("schedules", Schedule, also=("due_at",), codecs={"space_ids": json_column(tuple[str, ...])})
_SELECT = f"SELECT {_TABLE.columns_of('s')} FROM schedules s"
# The run has ended, is waiting, or was deleted with its lane, and the schedule has not recorded it yet.
_RESTED = (
    "s.last_status IN ('queued', 'waiting') AND (r.id IS NULL OR r.state IN ('completed', 'failed', 'cancelled') "
    "OR (r.state = 'waiting' AND s.last_status = 'queued'))"
)


def insert_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    tx.run(_TABLE.insert, access, due_at=schedule.due_at, **_TABLE.values(schedule))
    tx.wake(SCHEDULES.bell)


def keep_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    """Write the current state of a schedule; this transaction must have locked it."""
    tx.run(_TABLE.update, access, due_at=schedule.due_at, **_TABLE.values(schedule) | {"updated_at": tx.now})
    tx.wake(SCHEDULES.bell)


def delete_schedule(tx: Tx, access: Access, schedule_id: str) -> None:
    tx.run("DELETE FROM schedules WHERE account_id = :account AND id = :id", access, id=schedule_id)
    tx.wake(SCHEDULES.bell)


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
    return tx.value("SELECT count(*) FROM schedules WHERE account_id = :account", access) or 0


class SchedulesDue(Due[Schedule]):
    """Schedules of all accounts that are due, or whose run has ended or is waiting."""

    def next_due(self, tx: Tx) -> int | None:
        """Now, if the run of a schedule has ended or waits; else when the next schedule is due."""
        return tx.now if self._rested(tx, 1) else super().next_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Schedule]:
        """Return each of them once."""
        found = [*self._rested(tx, limit), *super().take(tx, limit)]
        return list({(seen.account_id, seen.id): seen for seen in found}.values())

    def _rested(self, tx: Tx, limit: int) -> list[Schedule]:
        runs = f"{_SELECT} LEFT JOIN runs r ON r.account_id = s.account_id AND r.id = s.run_id"
        return _TABLE.rows(tx.all(f"{runs} WHERE {_RESTED} LIMIT :limit", limit=limit))


SCHEDULES = SchedulesDue(_TABLE, "schedules")
