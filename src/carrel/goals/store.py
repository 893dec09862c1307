"""The SQL of goals, plans, and notes about plans. A goal is locked before its plans, a plan before its tasks.

The locks let others insert rows that refer to the plan: a run that ends adds a note, with its lane locked.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, structs

from carrel.goals.model import Goal, Plan
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import SESSION_PLANS_SHOWN
from carrel.runs import RUN_TABLE, Run
from carrel.storage import FLAG, Due, Table, Tx, in_list, json_column
from carrel.visibility import seen_of_sessions, seen_tasks
from carrel.work import dependencies_of

# The agent's runs in the task's own lane, and those that the caller sent and linked; neither other agents' runs on the
# task nor somebody else's chat about it.
_READABLE = "account_id = :account AND (key = :lane || task_id OR (provenance_kind = 'a2a' AND actor_id = :actor_id))"


class PlanNote(Struct, frozen=True, kw_only=True):
    """A plan whose tasks or runs have changed."""

    account_id: str
    plan_id: str


_METADATA = {"metadata": json_column(dict[str, Any])}
_GOALS = Table("goals", Goal, codecs=_METADATA)
_PLANS = Table("plans", Plan, codecs=_METADATA | {"dependencies": json_column(tuple[str, ...]), "held": FLAG})
_NOTES = Table("plan_notes", PlanNote, key=("account_id", "plan_id"))
_SELECT_GOAL = f"{_GOALS.select} WHERE account_id = :account"
_SELECT_PLAN = f"{_PLANS.select} WHERE account_id = :account"
_LOCKED = " FOR NO KEY UPDATE"


def insert_goal(tx: Tx, access: Access, goal: Goal) -> bool:
    """Write a new goal; False when its id is taken."""
    return tx.run(f"{_GOALS.insert} ON CONFLICT DO NOTHING", access, **_GOALS.values(goal)) > 0


def save_goal(tx: Tx, access: Access, goal: Goal) -> Goal:
    changed = structs.replace(goal, updated_at=tx.now)
    tx.run(_GOALS.update, access, **_GOALS.values(changed))
    return changed


def goal_by_id(tx: Tx, access: Access, goal_id: str, *, hold: bool = False) -> Goal | None:
    return _GOALS.row(tx.one(f"{_SELECT_GOAL} AND id = :id{_LOCKED if hold else ''}", access, id=goal_id))


def goals_of_session(tx: Tx, access: Access, key: str, *, before: str | None = None, limit: int) -> list[Goal]:
    """Return the goals of a session below an id, newest first."""
    return _newest_goals(tx, access, "key = :key", {"key": key}, before, limit)


def goals_seen(tx: Tx, access: Access, *, before: str | None = None, limit: int) -> list[Goal]:
    """Return the goals below an id of all sessions that the caller may see, newest first."""
    return _newest_goals(tx, access, *seen_of_sessions(tx, access, table="goals"), before, limit)


def goals_made_by(
    tx: Tx, access: Access, made_by: str, agent_id: str, *, status: str | None, before: str | None, limit: int
) -> list[Goal]:  # fmt: skip
    """Return the goals below an id that somebody created with an agent, newest first."""
    return _newest_goals(tx, access, *_made_by(made_by, agent_id, status), before, limit)


def _newest_goals(
    tx: Tx, access: Access, where: str, values: dict[str, object], before: str | None, limit: int
) -> list[Goal]:  # fmt: skip
    older = "" if before is None else " AND id < :before"
    sql = f"{_SELECT_GOAL} AND {where}{older} ORDER BY id DESC LIMIT :limit"
    return _GOALS.rows(tx.all(sql, access, limit=limit, before=before, **values))


def count_goals_made_by(tx: Tx, access: Access, made_by: str, agent_id: str, *, status: str | None) -> int:
    where, values = _made_by(made_by, agent_id, status)
    return tx.value(f"SELECT count(*) FROM goals WHERE account_id = :account AND {where}", access, **values) or 0


def _made_by(made_by: str, agent_id: str, status: str | None) -> tuple[str, dict[str, object]]:
    where = "made_by = :made_by AND agent_id = :agent_id"
    values = dict[str, object](made_by=made_by, agent_id=agent_id)
    return (where, values) if status is None else (f"{where} AND status = :status", values | {"status": status})


def delete_goal(tx: Tx, access: Access, goal_id: str) -> None:
    """Delete a goal whose plans are deleted."""
    tx.run("DELETE FROM goals WHERE account_id = :account AND id = :id", access, id=goal_id)


def insert_plan(tx: Tx, access: Access, plan: Plan) -> None:
    tx.run(_PLANS.insert, access, **_PLANS.values(plan))


def save_plan(tx: Tx, access: Access, plan: Plan) -> Plan:
    changed = structs.replace(plan, updated_at=tx.now)
    tx.run(_PLANS.update, access, **_PLANS.values(changed))
    return changed


def plan_by_id(tx: Tx, access: Access, plan_id: str, *, hold: bool = False) -> Plan | None:
    return _PLANS.row(tx.one(f"{_SELECT_PLAN} AND id = :id{_LOCKED if hold else ''}", access, id=plan_id))


def plans_of_session(tx: Tx, access: Access, key: SessionKey, *, limit: int = SESSION_PLANS_SHOWN) -> list[Plan]:
    """Return the newest plans of a session, newest first."""
    sql = f"{_SELECT_PLAN} AND key = :key ORDER BY id DESC LIMIT :limit"
    return _PLANS.rows(tx.all(sql, access, key=str(key), limit=limit))


def plans_of_goal(tx: Tx, access: Access, goal_id: str) -> list[Plan]:
    """Return the plans of a goal, oldest first."""
    return _PLANS.rows(tx.all(f"{_SELECT_PLAN} AND goal_id = :goal_id ORDER BY id", access, goal_id=goal_id))


def plan_of_task(tx: Tx, access: Access, task_id: str) -> Plan | None:
    """Return the plan of a task."""
    sql = f"{_SELECT_PLAN} AND id = (SELECT plan_id FROM tasks WHERE account_id = :account AND id = :task_id)"
    return _PLANS.row(tx.one(sql, access, task_id=task_id))


def goal_of_task(tx: Tx, access: Access, task_id: str) -> Goal | None:
    """Return the goal of a task."""
    sql = f"{_SELECT_GOAL} AND id = (SELECT goal_id FROM tasks WHERE account_id = :account AND id = :task_id)"
    return _GOALS.row(tx.one(sql, access, task_id=task_id))


def links_of_tasks(tx: Tx, access: Access, task_ids: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the ids of the goal and the plan of several tasks, by task."""
    listed, names = in_list("id", task_ids)
    if not names:
        return {}
    sql = f"SELECT id, goal_id, plan_id FROM tasks WHERE account_id = :account AND id IN ({listed})"
    return {row[0]: (row[1], row[2]) for row in tx.all(sql, access, **names)}


def delete_plan(tx: Tx, access: Access, plan_id: str) -> None:
    """Delete a plan; sessions that work on it then have none."""
    sql = "UPDATE plan_modes SET active_plan_id = NULL WHERE account_id = :account AND active_plan_id = :id"
    tx.run(sql, access, id=plan_id)
    tx.run("DELETE FROM plans WHERE account_id = :account AND id = :id", access, id=plan_id)


def note_plan(tx: Tx, access: Access, plan_id: str) -> None:
    sql = "INSERT INTO plan_notes (account_id, id, plan_id, due_at) VALUES (:account, :id, :plan_id, :now)"
    tx.run(sql, access, id=tx.new_id("note"), plan_id=plan_id, now=tx.now)


class PlansNoted(Due[PlanNote]):
    """Plans of all accounts with due notes."""

    def take(self, tx: Tx, limit: int) -> list[PlanNote]:
        """Return each of them once."""
        sql = (
            f"SELECT {_NOTES.columns} FROM plan_notes WHERE due_at <= :now "
            "GROUP BY account_id, plan_id ORDER BY min(due_at) LIMIT :limit"
        )
        return _NOTES.rows(tx.all(sql, now=tx.now, limit=limit))


PLANS_NOTED = PlansNoted(_NOTES, "plans")


def notes_of_plan(tx: Tx, access: Access, plan_id: str) -> list[str]:
    sql = "SELECT id FROM plan_notes WHERE account_id = :account AND plan_id = :plan_id ORDER BY id"
    return [row[0] for row in tx.all(sql, access, plan_id=plan_id)]


def delete_notes(tx: Tx, access: Access, note_ids: list[str]) -> None:
    sql = "DELETE FROM plan_notes WHERE account_id = :account AND id = :id"
    tx.run_many(sql, [{"account": access.account_id, "id": note_id} for note_id in note_ids])


def _readable(access: Access, agent_id: str) -> dict[str, object]:
    return {"lane": f"agent:{agent_id}:task:", "actor_id": access.actor_id}


class PlanPosition(Struct, frozen=True):
    """Where a task belongs: its goal, plan, position, and dependencies."""

    goal_id: str
    plan_id: str
    index: int
    dependencies: tuple[str, ...]


def plan_positions(tx: Tx, access: Access, task_ids: Iterable[str]) -> dict[str, PlanPosition]:
    """Return the places of tasks that have a goal and a plan."""
    wanted = list(task_ids)
    listed, names = in_list("task", wanted)
    if not names:
        return {}
    before = dependencies_of(tx, access, wanted)
    sql = (
        "SELECT id, goal_id, plan_id, task_index FROM tasks WHERE account_id = :account "
        f"AND goal_id IS NOT NULL AND plan_id IS NOT NULL AND id IN ({listed})"
    )
    return {
        task_id: PlanPosition(goal_id, plan_id, index or 0, tuple(before.get(task_id, ())))
        for task_id, goal_id, plan_id, index in tx.all(sql, access, **names)
    }


def newest_runs(tx: Tx, access: Access, agent_id: str, task_ids: Iterable[str]) -> dict[str, str]:
    """Return the id of the newest readable run of each task that has one."""
    listed, names = in_list("task", task_ids)
    if not names:
        return {}
    sql = f"SELECT task_id, MAX(id) FROM runs WHERE {_READABLE} AND task_id IN ({listed}) GROUP BY task_id"
    return {row[0]: row[1] for row in tx.all(sql, access, **_readable(access, agent_id), **names)}


def runs_of_tasks(tx: Tx, access: Access, agent_id: str, column: str, value: str, *, limit: int) -> list[Run]:
    """Return the newest readable runs of the tasks of a plan (`column` plan_id) or of a goal's plans (goal_id)."""
    sql = (
        f"{RUN_TABLE.select} WHERE {_READABLE} AND task_id IN "
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
    return tx.value("SELECT task_id FROM runs WHERE account_id = :account AND id = :run_id", access, run_id=run_id)


def is_task_in_view(tx: Tx, access: Access, task_id: str) -> bool:
    seen, values = seen_tasks(tx, access)
    sql = f"SELECT 1 FROM tasks WHERE account_id = :account AND id = :id AND {seen}"
    return tx.one(sql, access, id=task_id, **values) is not None
