"""The SQL of one caller's A2A runs with one agent: lists by newest change, and how many there are."""

from typing import Any
from zlib import crc32

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs.model import Run
from carrel.runs.store import RUN_TABLE, SELECT_RUN
from carrel.storage import Tx

_OF_CALLER = "account_id = :account AND actor_id = :actor AND agent_id = :agent AND provenance_kind = 'a2a'"
_STRIPES = 16
# A context belongs to one caller and one agent already; COALESCE keeps the other columns from choosing another index.
_IN_LANE = (
    "account_id = :account AND key = :key AND COALESCE(actor_id, '') = :actor AND COALESCE(agent_id, '') = :agent "
    "AND provenance_kind = 'a2a'"
)


class CallerRunFilter(Struct, frozen=True, kw_only=True):
    """Which of a caller's runs to list; a field that is None does not narrow the list."""

    agent_id: str
    key: str | None = None
    # A condition on the state, built from the caller's constants and never from a request.
    condition: str | None = None
    updated_from: int | None = None


def newest_caller_runs(
    tx: Tx, access: Access, run_filter: CallerRunFilter, *, before: tuple[int, str] | None, limit: int
) -> list[Run]:  # fmt: skip
    """Return runs behind a cursor of (updated_at, id), newest change first."""
    where, values = _where(access, run_filter)
    if before is not None:
        where.append("(updated_at < :at OR (updated_at = :at AND id < :id)) AND updated_at <= :at")
        values |= {"at": before[0], "id": before[1]}
    sql = f"{SELECT_RUN} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT :limit"
    return RUN_TABLE.rows(tx.all(sql, access, limit=limit, **values))


def count_caller_runs(tx: Tx, access: Access, run_filter: CallerRunFilter) -> int:
    """Return the length of the whole list; a narrowed list is counted row by row."""
    where, values = _where(access, run_filter)
    sql = f"SELECT count(*) FROM runs WHERE {' AND '.join(where)}"
    if where == [_OF_CALLER]:
        sql = (
            "SELECT COALESCE(sum(n), 0) FROM task_counts WHERE account_id = :account AND actor_id = :actor "
            "AND agent_id = :agent"
        )
    row = tx.one(sql, access, **values)
    return int(row[0]) if row else 0


def count_new_run(tx: Tx, access: Access, run: Run) -> None:
    """Add a new run to its caller's count."""
    _count(tx, access, run.actor_id, run.agent_id, run.key, 1)


def count_deleted_run(tx: Tx, access: Access, run: Run) -> None:
    """Subtract a deleted run from its caller's count."""
    _count(tx, access, run.actor_id, run.agent_id, run.key, -1)


def count_deleted_lane(tx: Tx, access: Access, key: str) -> None:
    """Subtract every run of a lane, before they are deleted."""
    sql = (
        "SELECT actor_id, agent_id, count(*) FROM runs WHERE account_id = :account AND key = :key "
        "AND provenance_kind = 'a2a' GROUP BY actor_id, agent_id ORDER BY actor_id, agent_id"
    )
    for actor_id, agent_id, count in tx.all(sql, access, key=key):
        _count(tx, access, actor_id, agent_id, key, -count)


def _count(tx: Tx, access: Access, actor_id: str, agent_id: str, key: str, more: int) -> None:
    sql = (
        "INSERT INTO task_counts (account_id, actor_id, agent_id, stripe, n) VALUES (:account, :actor, :agent, "
        ":stripe, :more) ON CONFLICT (account_id, actor_id, agent_id, stripe) DO UPDATE SET n = task_counts.n + :more"
    )
    # At the end of the unit of work, so that this row is locked as briefly as possible.
    tx.later(sql, access, actor=actor_id, agent=agent_id, stripe=crc32(key.encode()) % _STRIPES, more=more)


def _where(access: Access, run_filter: CallerRunFilter) -> tuple[list[str], dict[str, Any]]:
    where = [_OF_CALLER if run_filter.key is None else _IN_LANE]
    values: dict[str, Any] = {"actor": access.actor_id, "agent": run_filter.agent_id}
    if run_filter.key is not None:
        values["key"] = run_filter.key
    if run_filter.condition is not None:
        where.append(run_filter.condition)
    if run_filter.updated_from is not None:
        where.append("updated_at >= :updated_from")
        values["updated_from"] = run_filter.updated_from
    return where, values


def release_sender(tx: Tx, access: Access, run: Run, sender_id: str) -> None:
    """Give a run another sender id, so that its own can be used again."""
    sql = "UPDATE runs SET sender_id = :sender_id WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=run.id, sender_id=sender_id)
