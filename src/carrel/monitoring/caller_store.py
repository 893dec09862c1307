"""The SQL of one caller's A2A runs with one agent: lists by newest change, and counts."""

from typing import Any, Literal

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import RUN_TABLE, Run, count_of_caller
from carrel.storage import Tx

_OF_CALLER = "account_id = :account AND actor_id = :actor AND agent_id = :agent AND provenance_kind = 'a2a'"
# A context belongs to one caller and one agent anyway; COALESCE keeps the other columns from choosing another index.
_IN_LANE = (
    "account_id = :account AND key = :key AND COALESCE(actor_id, '') = :actor AND COALESCE(agent_id, '') = :agent "
    "AND provenance_kind = 'a2a'"
)
Phase = Literal["submitted", "working", "waiting", "waiting_auth", "completed", "cancelled", "rejected", "failed"]
_IN_PHASE: dict[Phase, str] = {
    "submitted": "state = 'queued' AND attempt = 0",
    "working": "(state = 'running' OR (state = 'queued' AND attempt > 0))",
    "waiting": "state = 'waiting' AND waiting_for <> 'auth'",
    "waiting_auth": "state = 'waiting' AND waiting_for = 'auth'",
    "completed": "state = 'completed'",
    "cancelled": "state = 'cancelled'",
    "rejected": "state = 'failed' AND reason = 'rejected'",
    "failed": "state = 'failed' AND (reason IS NULL OR reason <> 'rejected')",
}


class CallerRunFilter(Struct, frozen=True, kw_only=True):
    """Which of a caller's runs to list; a field that is None does not narrow the list."""

    agent_id: str
    key: str | None = None
    phase: Phase | None = None
    updated_from: int | None = None


def newest_caller_runs(
    tx: Tx, access: Access, run_filter: CallerRunFilter, *, before: tuple[int, str] | None, limit: int
) -> list[Run]:  # fmt: skip
    """Return runs behind a cursor of (updated_at, id), newest change first."""
    where, values = _where(access, run_filter)
    if before is not None:
        where.append("(updated_at < :at OR (updated_at = :at AND id < :id)) AND updated_at <= :at")
        values |= {"at": before[0], "id": before[1]}
    sql = f"{RUN_TABLE.select} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT :limit"
    return RUN_TABLE.rows(tx.all(sql, access, limit=limit, **values))


def count_caller_runs(tx: Tx, access: Access, run_filter: CallerRunFilter) -> int:
    """Return the length of the whole list; a narrowed list is counted row by row."""
    where, values = _where(access, run_filter)
    if where == [_OF_CALLER]:
        return count_of_caller(tx, access, run_filter.agent_id)
    return tx.value(f"SELECT count(*) FROM runs WHERE {' AND '.join(where)}", access, **values) or 0


def _where(access: Access, run_filter: CallerRunFilter) -> tuple[list[str], dict[str, Any]]:
    where = [_OF_CALLER if run_filter.key is None else _IN_LANE]
    if run_filter.phase is not None:
        where.append(_IN_PHASE[run_filter.phase])
    if run_filter.updated_from is not None:
        where.append("updated_at >= :updated_from")
    given = {"key": run_filter.key, "updated_from": run_filter.updated_from}
    named = {name: value for name, value in given.items() if value is not None}
    return where, {"actor": access.actor_id, "agent": run_filter.agent_id, **named}
