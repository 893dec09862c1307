"""The SQL of lists and counts of runs."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct, structs

from carrel.kernel import Access, not_found
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Tx, in_list
from carrel.visibility import seen_runs

# A run waits for a person, or for the program that sent its message to return the output of a function.
WaitsFor = Literal["person", "program"]


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs to list; a field that is None does not narrow the list."""

    key: str | None = None
    agent_id: str | None = None
    task_id: str | None = None
    auto_run_id: str | None = None
    actor_id: str | None = None
    state: str | None = None
    provenance_kind: str | None = None
    waits_for: WaitsFor | None = None
    # Runs of any of these tasks.
    task_ids: tuple[str, ...] | None = None


def runs_newest_first(tx: Tx, access: Access, wanted: RunFilter, *, before: str | None, limit: int) -> list[Run]:
    """Return visible runs after a cursor, newest first."""
    values: dict[str, Any] = {name: value for name, value in structs.asdict(wanted).items() if value is not None}
    waits_for, task_ids = values.pop("waits_for", None), values.pop("task_ids", None)
    where = ["account_id = :account", *(f"{name} = :{name}" for name in values)]
    if waits_for is not None:
        where.append(f"state = 'waiting' AND waiting_for {'=' if waits_for == 'program' else '<>'} 'tool_output'")
    if task_ids is not None:
        listed, named = in_list("task", task_ids)
        where.append(f"task_id IN ({listed})" if named else "FALSE")
        values |= named
    seen, more = seen_runs(tx, access)
    where.append(seen)
    values |= more
    if before is not None:
        where.append("id < :before")
        values["before"] = before
    sql = f"{RUN_TABLE.select} WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT :limit"
    return RUN_TABLE.rows(tx.all(sql, access, limit=limit, **values))


def visible_run(tx: Tx, access: Access, run_id: str) -> Run:
    """Return a run that the caller may see; otherwise refuse as not found."""
    seen, values = seen_runs(tx, access)
    sql = f"{RUN_TABLE.select} WHERE account_id = :account AND id = :id AND {seen}"
    run = RUN_TABLE.row(tx.one(sql, access, id=run_id, **values))
    if run is None:
        raise not_found("run")
    return run


def count_live(tx: Tx, access: Access) -> dict[tuple[str, str], int]:
    """Return how many visible runs are queued, running, and waiting for a `person` or a `program`.

    They are counted by (state, agent).
    """
    seen, values = seen_runs(tx, access)
    sql = (
        "SELECT CASE WHEN state <> 'waiting' THEN state WHEN waiting_for = 'tool_output' THEN 'program' "
        "ELSE 'person' END AS doing, agent_id, count(*) FROM runs WHERE account_id = :account "
        f"AND state IN ('queued', 'running', 'waiting') AND {seen} GROUP BY doing, agent_id"
    )
    return {(row[0], row[1]): row[2] for row in tx.all(sql, access, **values)}


def stuck_lanes(tx: Tx, access: Access) -> dict[str, int]:
    """Return, by agent, how many visible lanes are blocked by a run whose lease has expired."""
    seen, values = seen_runs(tx, access)
    sql = (
        "SELECT agent_id, count(*) FROM runs WHERE account_id = :account AND state = 'running' AND lease_until <= :now "
        f"AND {seen} GROUP BY agent_id"
    )
    return {row[0]: row[1] for row in tx.all(sql, access, now=tx.now, **values)}


def queue_order(tx: Tx, access: Access, key: str) -> dict[str, int]:
    """Return the queue position of every queued run of a lane, 1 for the next."""
    sql = "SELECT id FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' ORDER BY seq"
    return {row[0]: position for position, row in enumerate(tx.all(sql, access, key=key), 1)}


def awaited_of_lanes(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, str]:
    """Return what these lanes wait for from people (input, auth or approval), by key; the newest run's if several.

    Runs that wait for a program are left out.
    """
    listed, named = in_list("key", keys)
    if not named:
        return {}
    sql = (
        "SELECT key, waiting_for FROM runs WHERE account_id = :account AND state = 'waiting' "
        f"AND waiting_for <> 'tool_output' AND key IN ({listed}) ORDER BY id"
    )
    return {row[0]: row[1] for row in tx.all(sql, access, **named)}


def count_held(tx: Tx, access: Access) -> dict[str, int]:
    """Return how many runs are held for each budget or loop, without those queued behind them."""
    sql = (
        "SELECT held_for, count(*) FROM runs WHERE account_id = :account AND held_for IS NOT NULL AND state = 'queued' "
        "GROUP BY held_for"
    )
    return {row[0]: int(row[1]) for row in tx.all(sql, access)}


def count_unreachable(tx: Tx, access: Access) -> dict[str, int]:
    """Return how many runs of the account wait for each unreachable gateway."""
    sql = (
        "SELECT unreachable_gateway, count(*) FROM runs WHERE account_id = :account AND state = 'queued' "
        "AND unreachable_gateway IS NOT NULL GROUP BY unreachable_gateway"
    )
    return {gateway: int(count) for gateway, count in tx.all(sql, access)}
