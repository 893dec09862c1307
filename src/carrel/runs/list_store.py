"""The SQL of what belongs to a run: artifacts and attachments; and the lists of runs."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs.model import Run
from carrel.runs.store import run_from
from carrel.storage import Tx

_RUN = ", ".join(f"r.{name}" for name in Run.__struct_fields__)


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs a list wants; what is None is not asked for."""

    key: str | None = None
    agent_id: str | None = None
    task_id: str | None = None
    actor_id: str | None = None
    state: str | None = None
    provenance_kind: str | None = None


def runs_newest_first(tx: Tx, access: Access, wanted: RunFilter, *, before: str | None, limit: int) -> list[Run]:
    """Runs behind a cursor, newest first."""
    where, values = ["r.account_id = :account"], {"account": access.account_id}
    for name in RunFilter.__struct_fields__:
        value = getattr(wanted, name)
        if value is not None:
            where.append(f"r.{name} = :{name}")
            values[name] = value
    if before is not None:
        where.append("r.id < :before")
        values["before"] = before
    rows = tx.all(
        f"SELECT {_RUN} FROM runs r WHERE {' AND '.join(where)} ORDER BY r.id DESC LIMIT :limit", limit=limit, **values
    )
    return [run_from(row) for row in rows]


def count_live(tx: Tx, access: Access) -> dict[tuple[str, str], int]:
    """How many runs are queued, running and waiting, by (state, agent)."""
    rows = tx.all(
        "SELECT state, agent_id, count(*) FROM runs WHERE account_id = :account AND state IN "
        "('queued', 'running', 'waiting') "
        "GROUP BY state, agent_id",
        account=access.account_id,
    )
    return {(row[0], row[1]): row[2] for row in rows}


def stuck_lanes(tx: Tx, access: Access) -> dict[str, int]:
    """How many lanes are held by a run whose lease ran out, by agent."""
    rows = tx.all(
        "SELECT agent_id, count(*) FROM runs WHERE account_id = :account AND state = 'running' AND lease_until <= :now "
        "GROUP BY agent_id",
        account=access.account_id,
        now=tx.now,
    )
    return {row[0]: row[1] for row in rows}
