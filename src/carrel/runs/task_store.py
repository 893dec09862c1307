"""The SQL of lists of runs as A2A shows them: one caller's tasks with one agent, by their newest change."""

from typing import Any

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs.model import Run
from carrel.runs.store import RUN_COLUMNS, run_from
from carrel.storage import Tx

_MINE = "account_id = :account AND actor_id = :actor AND agent_id = :agent AND provenance_kind = 'a2a'"
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
    """How many tasks there are in the whole list."""
    where, values = _where(access, wanted)
    row = tx.one(f"SELECT count(*) FROM runs WHERE {' AND '.join(where)}", **values)
    return int(row[0]) if row else 0


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
