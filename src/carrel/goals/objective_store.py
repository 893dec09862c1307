"""The SQL of plan tasks and their runs, as far as the caller who created the goal may read them."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Tx
from carrel.visibility import seen_tasks

# The agent's runs in the task's own lane, and those that the caller sent and linked; neither other agents' runs on the
# task nor somebody else's chat about it.
_READABLE = "(key = :lane || task_id OR (provenance_kind = 'a2a' AND actor_id = :actor_id))"


def _readable(access: Access, agent_id: str) -> dict[str, object]:
    return {"lane": f"agent:{agent_id}:task:", "actor_id": access.actor_id}


class PlanPosition(Struct, frozen=True, kw_only=True):
    """Where a task belongs: its goal, plan, position, and dependencies."""

    goal_id: str
    plan_id: str
    index: int
    dependencies: tuple[str, ...]


def plan_positions(tx: Tx, access: Access, task_ids: Iterable[str]) -> dict[str, PlanPosition]:
    """Return the places of tasks that have a goal and a plan."""
    names: dict[str, object] = {f"task_{at}": task_id for at, task_id in enumerate(dict.fromkeys(task_ids))}
    if not names:
        return {}
    listed = ", ".join(f":{name}" for name in names)
    before: dict[str, list[str]] = {}
    sql = (
        "SELECT task_id, depends_on FROM task_dependencies WHERE account_id = :account "
        f"AND task_id IN ({listed}) ORDER BY depends_on"
    )
    for task_id, other in tx.all(sql, access, **names):
        before.setdefault(task_id, []).append(other)
    sql = (
        "SELECT id, goal_id, plan_id, task_index FROM tasks WHERE account_id = :account "
        f"AND goal_id IS NOT NULL AND plan_id IS NOT NULL AND id IN ({listed})"
    )
    return {
        row[0]: PlanPosition(
            goal_id=row[1], plan_id=row[2], index=row[3] or 0, dependencies=tuple(before.get(row[0], ()))
        )
        for row in tx.all(sql, access, **names)
    }


def newest_runs(tx: Tx, access: Access, agent_id: str, task_ids: Iterable[str]) -> dict[str, str]:
    """Return the id of the newest readable run of each task that has one."""
    names: dict[str, object] = {f"task_{at}": task_id for at, task_id in enumerate(task_ids)}
    if not names:
        return {}
    sql = (
        f"SELECT task_id, MAX(id) FROM runs WHERE account_id = :account AND {_READABLE} "
        f"AND task_id IN ({', '.join(f':{name}' for name in names)}) GROUP BY task_id"
    )
    return {row[0]: row[1] for row in tx.all(sql, access, **_readable(access, agent_id), **names)}


def runs_of_plan(tx: Tx, access: Access, agent_id: str, plan_id: str, *, limit: int) -> list[Run]:
    """Return the newest readable runs of a plan's tasks."""
    return _runs(tx, access, agent_id, "plan_id", plan_id, limit)


def runs_of_goal(tx: Tx, access: Access, agent_id: str, goal_id: str, *, limit: int) -> list[Run]:
    """Return the newest readable runs of a goal's tasks."""
    return _runs(tx, access, agent_id, "goal_id", goal_id, limit)


def _runs(tx: Tx, access: Access, agent_id: str, column: str, value: str, limit: int) -> list[Run]:
    sql = (
        f"{RUN_TABLE.select} WHERE account_id = :account AND {_READABLE} AND task_id IN "
        f"(SELECT id FROM tasks WHERE account_id = :account AND {column} = :value AND plan_id IS NOT NULL) "
        "ORDER BY id DESC LIMIT :limit"
    )
    return RUN_TABLE.rows(tx.all(sql, access, **_readable(access, agent_id), value=value, limit=limit))


def bind_run(tx: Tx, access: Access, run_id: str, task_id: str) -> bool:
    """Link a run to a task; False if it is linked to another."""
    sql = (
        "UPDATE runs SET task_id = :task_id WHERE account_id = :account AND id = :run_id "
        "AND (task_id IS NULL OR task_id = :task_id)"
    )
    return tx.run(sql, access, run_id=run_id, task_id=task_id) > 0


def task_of_run(tx: Tx, access: Access, run_id: str) -> str | None:
    """Return the task that a run currently belongs to."""
    row = tx.one("SELECT task_id FROM runs WHERE account_id = :account AND id = :run_id", access, run_id=run_id)
    return None if row is None else row[0]


def is_task_in_view(tx: Tx, access: Access, task_id: str) -> bool:
    """Return whether a task is in spaces that the caller may see."""
    seen, values = seen_tasks(tx, access)
    return (
        tx.one(f"SELECT 1 FROM tasks WHERE account_id = :account AND id = :id AND {seen}", access, id=task_id, **values)
        is not None
    )
