"""The SQL of auto runs. The lane is locked before an auto run, and an auto run before its tick."""

from collections.abc import Iterable

from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import AUTO_RUNS_PER_SESSION_MAX
from carrel.modes.auto.model import LIVE, AutoRun
from carrel.storage import Due, Table, Tx, json_column

# Rung when an auto run was started, or its tick has ended.
AUTO = "auto"
_TABLE = Table("auto_runs", AutoRun, codecs={"space_ids": json_column(tuple[str, ...])})
_ONE = "account_id = :account AND id = :id"
_LIVE = f"status IN ({', '.join(repr(status) for status in LIVE)})"
# Those that this server ticks, and those that no server ticks yet.
_MINE = "(worker IS NULL OR worker = :worker)"


def insert_auto_run(tx: Tx, access: Access, auto: AutoRun) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(auto))
    tx.wake(AUTO)


def keep_auto_run(tx: Tx, access: Access, auto: AutoRun) -> None:
    """Write the current state of an auto run; this transaction must have locked it."""
    tx.run(_TABLE.update, access, **_TABLE.values(auto) | {"updated_at": tx.now})


def auto_run_by_id(tx: Tx, access: Access, auto_run_id: str, *, hold: bool = False) -> AutoRun | None:
    """Return one auto run; `hold` locks it (lock its lane first)."""
    lock = " FOR UPDATE" if hold else ""
    return _TABLE.row(tx.one(f"{_TABLE.select} WHERE {_ONE}{lock}", access, id=auto_run_id))


def auto_runs_by_id(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, AutoRun]:
    """Return several auto runs, by id."""
    return {auto.id: auto for auto in _TABLE.among(tx, access, "id", ids)}


def auto_runs_of_session(
    tx: Tx, access: Access, key: SessionKey | str, *, ended: bool = False, limit: int = AUTO_RUNS_PER_SESSION_MAX
) -> list[AutoRun]:
    """Return the auto runs of a session, newest first; with `ended` also those that have ended."""
    live = "" if ended else f" AND {_LIVE}"
    sql = f"{_TABLE.select} WHERE account_id = :account AND key = :key{live} ORDER BY id DESC LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, key=str(key), limit=limit))


def count_live(tx: Tx, access: Access) -> int:
    return tx.value(f"SELECT count(*) FROM auto_runs WHERE account_id = :account AND {_LIVE}", access) or 0


def look_again(tx: Tx, access: Access, auto_run_id: str, run_id: str) -> None:
    """Make the auto run of an ended tick due."""
    sql = f"UPDATE auto_runs SET due_at = :now WHERE {_ONE} AND tick_run_id = :run_id AND {_LIVE}"
    tx.run(sql, access, id=auto_run_id, run_id=run_id, now=tx.now)
    tx.wake(AUTO)


def auto_runs_left(tx: Tx, limit: int) -> list[AutoRun]:
    """Return auto runs across all accounts whose server is gone. Locks none."""
    sql = f"{_TABLE.select} WHERE {_LIVE} AND alive_until <= :now ORDER BY alive_until, id LIMIT :limit"
    return _TABLE.rows(tx.all(sql, now=tx.now, limit=limit))


class AutoRunsDue(Due[AutoRun]):
    """Auto runs of all accounts that are due on a server, or whose server is gone."""

    def __init__(self, worker: str) -> None:
        super().__init__(_TABLE, AUTO)
        self._worker = worker

    def next_due(self, tx: Tx) -> int | None:
        """When an auto run is next due here, or the first lease expires."""
        sql = f"SELECT due_at FROM auto_runs WHERE due_at IS NOT NULL AND {_MINE} ORDER BY due_at LIMIT 1"
        due = tx.one(sql, worker=self._worker)
        lease = tx.one(f"SELECT alive_until FROM auto_runs WHERE {_LIVE} ORDER BY alive_until LIMIT 1")
        return min((int(row[0]) for row in (due, lease) if row is not None), default=None)

    def take(self, tx: Tx, limit: int) -> list[AutoRun]:
        """One auto run of each lane, so that their order holds."""
        sql = f"{_TABLE.select} WHERE due_at <= :now AND {_MINE} ORDER BY due_at, id LIMIT :limit"
        due = _TABLE.rows(tx.all(sql, now=tx.now, worker=self._worker, limit=limit))
        found = [*auto_runs_left(tx, limit), *due]
        return list({(seen.account_id, seen.key): seen for seen in reversed(found)}.values())


def renew_leases(tx: Tx, worker: str, until: int) -> None:
    """Extend the leases of a server's auto runs; an expired lease stays expired."""
    sql = f"UPDATE auto_runs SET alive_until = :until WHERE worker = :worker AND {_LIVE} AND alive_until > :now"
    tx.run(sql, worker=worker, until=until, now=tx.now)


def expire_leases(tx: Tx, before: int) -> None:
    """End all leases from before a moment: for the only server of a store, which started then."""
    tx.run(f"UPDATE auto_runs SET alive_until = 0 WHERE {_LIVE} AND created_at < :before", before=before)


def delete_auto_runs(tx: Tx, access: Access, key: str) -> None:
    tx.run("DELETE FROM auto_runs WHERE account_id = :account AND key = :key", access, key=key)


def delete_ended(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Delete auto runs that ended before a moment and have no tick left; return how many."""
    sql = (
        "DELETE FROM auto_runs WHERE account_id = :account AND id IN (SELECT a.id FROM auto_runs a "
        "WHERE a.account_id = :account AND a.ended_at < :before AND NOT EXISTS (SELECT 1 FROM runs r "
        "WHERE r.account_id = a.account_id AND r.auto_run_id = a.id) ORDER BY a.id LIMIT :limit)"
    )
    return tx.run(sql, access, before=before, limit=limit)
