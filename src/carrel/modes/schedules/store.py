"""The SQL of schedules. A schedule is held before it moves, so that of several servers one has it fire."""

from carrel.kernel import Access
from carrel.modes.schedules.model import SCHEDULES, Schedule
from carrel.storage import Row, Tx

_NAMES = Schedule.__struct_fields__
_KEPT = (*_NAMES, "due_at")
_KEY = ("account_id", "id")
_COLUMNS = ", ".join(f"s.{name}" for name in _NAMES)
_INSERT = f"INSERT INTO schedules ({', '.join(_KEPT)}) VALUES ({', '.join(f':{name}' for name in _KEPT)})"
_UPDATE = (
    f"UPDATE schedules SET {', '.join(f'{name} = :{name}' for name in _KEPT if name not in _KEY)} "
    "WHERE account_id = :account_id AND id = :id"
)
_ONE = f"SELECT {_COLUMNS} FROM schedules s WHERE s.account_id = :account AND s.id = :id"
# The run has come to rest, or is gone with its lane, and the schedule does not know it yet.
_RESTED = (
    "s.last_status IN ('queued', 'waiting') AND (r.id IS NULL OR r.state IN ('completed', 'failed', 'cancelled') "
    "OR (r.state = 'waiting' AND s.last_status = 'queued'))"
)


def _schedule(row: Row) -> Schedule:
    return Schedule(**dict(zip(_NAMES, row, strict=True)))


def _values(schedule: Schedule, access: Access) -> dict[str, object]:
    return {name: getattr(schedule, name) for name in _KEPT} | {"account_id": access.account_id}


def insert_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    """Write a new schedule."""
    tx.run(_INSERT, **_values(schedule, access))
    tx.wake(SCHEDULES)


def keep_schedule(tx: Tx, access: Access, schedule: Schedule) -> None:
    """Write a schedule as it is now; it must be held."""
    tx.run(_UPDATE, **_values(schedule, access) | {"updated_at": tx.now})
    tx.wake(SCHEDULES)


def delete_schedule(tx: Tx, access: Access, schedule_id: str) -> None:
    """Forget a schedule."""
    tx.run("DELETE FROM schedules WHERE account_id = :account AND id = :id", account=access.account_id, id=schedule_id)
    tx.wake(SCHEDULES)


def schedule_by_id(tx: Tx, access: Access, schedule_id: str, *, hold: bool = False) -> Schedule | None:
    """One schedule, on demand held until the end of the transaction; the lane it speaks in must be held before it."""
    row = tx.one(f"{_ONE}{' FOR UPDATE' if hold else ''}", account=access.account_id, id=schedule_id)
    return None if row is None else _schedule(row)


def schedules_of(tx: Tx, access: Access, key: str, *, after: str = "", limit: int) -> list[Schedule]:
    """The schedules of one session, the oldest first."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM schedules s WHERE s.account_id = :account AND s.key = :key AND s.id > :after "
        "ORDER BY s.id LIMIT :limit",
        account=access.account_id,
        key=key,
        after=after,
        limit=limit,
    )
    return [_schedule(row) for row in rows]


def count_schedules(tx: Tx, access: Access) -> int:
    """How many schedules the account has."""
    row = tx.one("SELECT count(*) FROM schedules WHERE account_id = :account", account=access.account_id)
    return int(row[0]) if row else 0


def schedules_to_move(tx: Tx, limit: int) -> list[Schedule]:
    """Schedules that are due or whose run has come to rest, of whatever account. Holds none."""
    rested = tx.all(
        f"SELECT {_COLUMNS} FROM schedules s LEFT JOIN runs r ON r.account_id = s.account_id AND r.id = s.run_id "
        f"WHERE {_RESTED} LIMIT :limit",
        limit=limit,
    )
    due = tx.all(
        f"SELECT {_COLUMNS} FROM schedules s WHERE s.due_at <= :now ORDER BY s.due_at LIMIT :limit",
        now=tx.now,
        limit=limit,
    )
    return [_schedule(row) for row in (*rested, *due)]


def next_schedule_due(tx: Tx) -> int | None:
    """When a schedule is next due, in whatever account."""
    row = tx.one("SELECT due_at FROM schedules WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return None if row is None else int(row[0])


def put_off(tx: Tx, access: Access, schedule_id: str, until: int) -> None:
    """Let a due schedule that could not be moved wait, and change nothing else about it."""
    tx.run(
        "UPDATE schedules SET due_at = :until WHERE account_id = :account AND id = :id AND due_at <= :now",
        account=access.account_id,
        id=schedule_id,
        until=until,
        now=tx.now,
    )
