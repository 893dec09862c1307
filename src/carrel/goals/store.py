"""The SQL of goals, plans and plan mode."""

from typing import Any

from msgspec import Struct, structs

from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx, json_column
from carrel.goals.model import Goal, Plan
from carrel.work.model import Task
from carrel.work.store import TASK_TABLE


class PlanMode(Struct, frozen=True, kw_only=True):
    """Whether a session is in plan mode, and which plan it works on."""

    key: str
    enabled: bool
    updated_at: int
    active_plan_id: str | None = None


_METADATA = {"metadata": json_column(dict[str, Any])}
_GOALS = Table("goals", Goal, codecs=_METADATA)
_PLANS = Table("plans", Plan, codecs=_METADATA | {"dependencies": json_column(tuple[str, ...])})
_MODES = Table("plan_modes", PlanMode, key=("account_id", "key"), codecs={"enabled": FLAG})
_SELECT_GOAL = f"{_GOALS.select} WHERE account_id = :account"
_SELECT_PLAN = f"{_PLANS.select} WHERE account_id = :account"
_SELECT_TASK = f"{TASK_TABLE.select} WHERE account_id = :account"


def insert_goal(tx: Tx, access: Access, goal: Goal) -> None:
    """Write a new goal."""
    tx.run(_GOALS.insert, access, **_GOALS.values(goal))


def save_goal(tx: Tx, access: Access, goal: Goal) -> Goal:
    """Write a goal's changed fields."""
    changed = structs.replace(goal, updated_at=tx.now)
    tx.run(_GOALS.update, access, **_GOALS.values(changed))
    return changed


def goal_by_id(tx: Tx, access: Access, goal_id: str, *, hold: bool = False) -> Goal | None:
    """Return one goal. A goal is locked before its plans, a plan before its tasks."""
    return _GOALS.row(tx.one(f"{_SELECT_GOAL} AND id = :id{' FOR UPDATE' if hold else ''}", access, id=goal_id))


def goals_of_session(tx: Tx, access: Access, key: str, *, before: str | None = None, limit: int) -> list[Goal]:
    """Return the goals of a session below an id, newest first."""
    older, values = ("", {}) if before is None else (" AND id < :before", {"before": before})
    sql = f"{_SELECT_GOAL} AND key = :key{older} ORDER BY id DESC LIMIT :limit"
    return _GOALS.rows(tx.all(sql, access, key=key, limit=limit, **values))


def insert_plan(tx: Tx, access: Access, plan: Plan) -> None:
    """Write a new plan."""
    tx.run(_PLANS.insert, access, **_PLANS.values(plan))


def save_plan(tx: Tx, access: Access, plan: Plan) -> Plan:
    """Write a plan's changed fields."""
    changed = structs.replace(plan, updated_at=tx.now)
    tx.run(_PLANS.update, access, **_PLANS.values(changed))
    return changed


def plan_by_id(tx: Tx, access: Access, plan_id: str, *, hold: bool = False) -> Plan | None:
    """Return one plan."""
    return _PLANS.row(tx.one(f"{_SELECT_PLAN} AND id = :id{' FOR UPDATE' if hold else ''}", access, id=plan_id))


def plans_of_session(tx: Tx, access: Access, key: str, *, limit: int) -> list[Plan]:
    """Return the newest plans of a session, newest first."""
    sql = f"{_SELECT_PLAN} AND key = :key ORDER BY id DESC LIMIT :limit"
    return _PLANS.rows(tx.all(sql, access, key=key, limit=limit))


def plans_of_goal(tx: Tx, access: Access, goal_id: str) -> list[Plan]:
    """Return the plans of a goal, oldest first."""
    sql = f"{_SELECT_PLAN} AND goal_id = :goal_id ORDER BY id"
    return _PLANS.rows(tx.all(sql, access, goal_id=goal_id))


def plan_mode_of(tx: Tx, access: Access, key: str, *, hold: bool = False) -> PlanMode | None:
    """Return the plan mode of a session; None when it was never switched on."""
    lock = " FOR UPDATE" if hold else ""
    sql = f"{_MODES.select} WHERE account_id = :account AND key = :key{lock}"
    return _MODES.row(tx.one(sql, access, key=key))


def put_plan_mode(tx: Tx, access: Access, mode: PlanMode) -> None:
    """Write the plan mode of a session."""
    sql = (
        f"{_MODES.insert} ON CONFLICT (account_id, key) DO UPDATE SET enabled = excluded.enabled, "
        "active_plan_id = excluded.active_plan_id, updated_at = excluded.updated_at"
    )
    tx.run(sql, access, **_MODES.values(mode))


def tasks_of_plan(tx: Tx, access: Access, plan_id: str) -> list[Task]:
    """Return the tasks of a plan, in their order."""
    return TASK_TABLE.rows(tx.all(f"{_SELECT_TASK} AND plan_id = :id ORDER BY task_index, id", access, id=plan_id))


def tasks_of_goal(tx: Tx, access: Access, goal_id: str) -> list[Task]:
    """Return the tasks of a goal, oldest first."""
    return TASK_TABLE.rows(tx.all(f"{_SELECT_TASK} AND goal_id = :id ORDER BY created_at, id", access, id=goal_id))


def detach_tasks(tx: Tx, access: Access, goal_id: str) -> None:
    """Make the tasks of a goal tasks of their own."""
    sql = "UPDATE tasks SET goal_id = NULL, plan_id = NULL WHERE account_id = :account AND goal_id = :goal_id"
    tx.run(sql, access, goal_id=goal_id)


def delete_goal(tx: Tx, access: Access, goal_id: str) -> None:
    """Delete a goal with its plans."""
    sql = (
        "UPDATE plan_modes SET active_plan_id = NULL WHERE account_id = :account AND active_plan_id IN "
        "(SELECT id FROM plans WHERE account_id = :account AND goal_id = :goal_id)"
    )
    tx.run(sql, access, goal_id=goal_id)
    tx.run("DELETE FROM goals WHERE account_id = :account AND id = :goal_id", access, goal_id=goal_id)
