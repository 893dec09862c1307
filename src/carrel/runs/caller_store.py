"""The SQL of lists of runs as A2A shows them: one caller's tasks with one agent, by their newest change."""

from typing import Any
from zlib import crc32

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs.model import Run
from carrel.runs.store import RUN_COLUMNS, run_from
from carrel.storage import Tx

_MINE = "account_id = :account AND actor_id = :actor AND agent_id = :agent AND provenance_kind = 'a2a'"
_STRIPES = 16
# A context is one caller's with one agent already; dressed up so, the other columns choose no index of their own.
_IN_LANE = (
    "account_id = :account AND key = :key AND COALESCE(actor_id, '') = :actor AND COALESCE(agent_id, '') = :agent "
    "AND provenance_kind = 'a2a'"
)


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks of a caller a list wants; what is None is not asked for."""

    agent_id: str
    key: str | None = None
    # A condition on state and what goes with it, of the constants of whoever asks; no text from outside.
    condition: str | None = None
    updated_from: int | None = None


def newest_tasks(
    tx: Tx, access: Access, wanted: TaskFilter, *, before: tuple[int, str] | None, limit: int
) -> list[Run]:  # fmt: skip
    """Tasks behind a place in the list, newest change first."""
    where, values = _where(access, wanted)
    if before is not None:
        where.append("(updated_at < :at OR (updated_at = :at AND id < :id)) AND updated_at <= :at")
        values |= {"at": before[0], "id": before[1]}
    rows = tx.all(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT :limit",
        limit=limit,
        **values,
    )
    return [run_from(row) for row in rows]


def count_tasks(tx: Tx, access: Access, wanted: TaskFilter) -> int:
    """How many tasks there are in the whole list; where it is narrowed they are counted one by one."""
    where, values = _where(access, wanted)
    if where == [_MINE]:
        kept = tx.one(
            "SELECT COALESCE(sum(n), 0) FROM task_counts WHERE account_id = :account AND actor_id = :actor AND "
            "agent_id = :agent",
            **values,
        )
        return int(kept[0]) if kept else 0
    row = tx.one(f"SELECT count(*) FROM runs WHERE {' AND '.join(where)}", **values)
    return int(row[0]) if row else 0


def task_made(tx: Tx, access: Access, run: Run) -> None:
    """Count a new task of its caller."""
    _count(tx, access, run.actor_id, run.agent_id, run.key, 1)


def task_forgotten(tx: Tx, access: Access, run: Run) -> None:
    """Count one task less."""
    _count(tx, access, run.actor_id, run.agent_id, run.key, -1)


def lane_forgotten(tx: Tx, access: Access, key: str) -> None:
    """Count every task of a lane off, before its runs are deleted."""
    rows = tx.all(
        "SELECT actor_id, agent_id, count(*) FROM runs WHERE account_id = :account AND key = :key AND "
        "provenance_kind = 'a2a' GROUP BY actor_id, agent_id ORDER BY actor_id, agent_id",
        account=access.account_id,
        key=key,
    )
    for actor_id, agent_id, count in rows:
        _count(tx, access, actor_id, agent_id, key, -count)


def _count(tx: Tx, access: Access, actor_id: str, agent_id: str, key: str, more: int) -> None:
    # At the end of its unit of work: others who count wait for this row no longer than they must.
    tx.later(
        "INSERT INTO task_counts (account_id, actor_id, agent_id, stripe, n) VALUES (:account, :actor, :agent, "
        ":stripe, :more) ON CONFLICT (account_id, actor_id, agent_id, stripe) DO UPDATE SET n = task_counts.n + :more",
        account=access.account_id,
        actor=actor_id,
        agent=agent_id,
        stripe=crc32(key.encode()) % _STRIPES,
        more=more,
    )


def _where(access: Access, wanted: TaskFilter) -> tuple[list[str], dict[str, Any]]:
    where = [_MINE if wanted.key is None else _IN_LANE]
    values: dict[str, Any] = {"account": access.account_id, "actor": access.actor_id, "agent": wanted.agent_id}
    if wanted.key is not None:
        values["key"] = wanted.key
    if wanted.condition is not None:
        where.append(wanted.condition)
    if wanted.updated_from is not None:
        where.append("updated_at >= :updated_from")
        values["updated_from"] = wanted.updated_from
    return where, values


def release_sender(tx: Tx, access: Access, run: Run, sender_id: str) -> None:
    """Give a run another sender's id, so that the one it had can be used again."""
    tx.run(
        "UPDATE runs SET sender_id = :sender_id WHERE account_id = :account AND id = :id",
        account=access.account_id,
        id=run.id,
        sender_id=sender_id,
    )
