"""Goals of sessions: creating, finding, changing and deleting them."""

from collections.abc import Collection
from typing import Any

from msgspec import UNSET, structs

from carrel.goals import store
from carrel.goals.model import GOAL_MOVES, PLAN_MOVES, Goal, GoalChange, Plan, PlannedTask, illegal, require_move, walk
from carrel.goals.plans import add_tasks, draft_plan, end_plan_of_goal, is_found, resume_plan
from carrel.goals.transitions import enter_goal, enter_plan, publish_goal
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.kernel.limits import GOAL_DESCRIPTION_CHARS_MAX, GOAL_NAME_CHARS_MAX, SESSION_GOALS_MAX
from carrel.memory import Scope, forget_scope
from carrel.runs import Rules
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.topics import check_length
from carrel.visibility import may_see
from carrel.work import Task, check_metadata, hold_planned, progress_of, release_planned, tasks_planned

_OPEN_TASKS = ("in_progress", "assigned", "inbox")


def make_goal(
    tx: Tx, access: Access, key: SessionKey, *, name: str, description: str = "",
    metadata: dict[str, Any] | None = None, status: str | None = None, goal_id: str | None = None,
) -> Goal:  # fmt: skip
    """Create a goal of a session with a status, reached from `submitted` by legal moves."""
    _check(name, description, metadata)
    require_move(GOAL_MOVES, "submitted", status or "submitted")
    if len(store.goals_of_session(tx, access, str(key), limit=SESSION_GOALS_MAX)) >= SESSION_GOALS_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A session has at most {SESSION_GOALS_MAX} goals; delete old ones first.")
    goal = Goal(
        id=goal_id or tx.new_id("goal"),
        key=str(key),
        agent_id=key.agent,
        made_by=access.actor_id,
        name=name,
        description=description,
        status=status or "submitted",  # type: ignore[arg-type]
        metadata=metadata or {},
        created_at=tx.now,
        updated_at=tx.now,
    )
    if not store.insert_goal(tx, access, goal):
        raise Refusal.of_taken_id(goal.id)
    publish_goal(tx, access, "goal.created", goal)
    return goal


def find_goal(tx: Tx, access: Access, goal_id: str, *, key: SessionKey | None = None, hold: bool = False) -> Goal:
    """Return a visible goal of a session; with `key`, only of that session, and only if the caller may act for it."""
    goal = store.goal_by_id(tx, access, goal_id, hold=hold)
    if goal is None or not is_found(tx, access, goal, key):
        raise not_found("goal")
    return goal


def lock_goal(tx: Tx, access: Access, goal_id: str) -> None:
    """Lock a goal, its plans and their tasks, for a caller that locks lanes next."""
    if store.goal_by_id(tx, access, goal_id, hold=True) is None:
        return
    plans = store.plans_of_goal(tx, access, goal_id)
    for plan in plans:
        store.plan_by_id(tx, access, plan.id, hold=True)
    for plan in plans:
        hold_planned(tx, access, plan.id)


def goals_of_session(tx: Tx, access: Access, key: SessionKey, *, before: str | None = None, limit: int) -> list[Goal]:
    """Return the goals of a session below an id, newest first; none if the caller may not see the session."""
    goals = store.goals_of_session(tx, access, str(key), before=before, limit=limit)
    # A session without messages belongs to whoever set its goals.
    is_open = lane_of(tx, access, key) is not None
    return goals if is_open else [goal for goal in goals if may_see(tx, access, key, goal.made_by)]


def change_goal(
    tx: Tx, access: Access, goal_id: str, change: GoalChange, rules: Rules, *, key: SessionKey | None = None
) -> Goal:  # fmt: skip
    """Change a goal. Cancelling it skips its waiting plans, fails its working ones, and cancels their runs."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    given = {name: value for name in GoalChange.__struct_fields__ if (value := getattr(change, name)) is not UNSET}
    _check(given.get("name", goal.name), given.get("description", ""), given.get("metadata"))
    if "status" in given:
        require_move(GOAL_MOVES, goal.status, given["status"])
    if all(getattr(goal, name) == value for name, value in given.items()):
        return goal
    changed = store.save_goal(tx, access, structs.replace(goal, **given))
    if changed.status == "cancelled" and goal.status != "cancelled":
        for plan in _open_plans(tx, access, goal):
            end_plan_of_goal(tx, access, plan, "failed" if plan.status == "working" else "skipped", rules)
    publish_goal(tx, access, "goal.updated", changed)
    return changed


def complete_goal(tx: Tx, access: Access, goal_id: str, rules: Rules, *, key: SessionKey | None = None) -> Goal:
    """Complete a goal; unfinished plans are skipped."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    way = walk(GOAL_MOVES, goal.status, "completed")
    for plan in _open_plans(tx, access, goal):
        end_plan_of_goal(tx, access, plan, "skipped" if plan.status != "working" else "cancelled", rules)
    return enter_goal(tx, access, goal, way)


def pause_goal(tx: Tx, access: Access, goal_id: str, *, key: SessionKey | None = None) -> Goal:
    """Block a goal: nothing more of its plans begins until it is resumed; running runs finish."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    way = walk(GOAL_MOVES, goal.status, "blocked")
    for plan in _open_plans(tx, access, goal):
        if plan.status == "working":
            enter_plan(tx, access, structs.replace(plan, held=True), "blocked")
    return enter_goal(tx, access, goal, way)


def resume_goal(tx: Tx, access: Access, goal_id: str, rules: Rules, *, key: SessionKey | None = None) -> Goal:
    """Resume a blocked or failed goal, and its blocked or failed plans."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    if goal.status not in ("blocked", "failed"):
        raise illegal(GOAL_MOVES, goal.status, "working")
    goal = enter_goal(tx, access, goal, walk(GOAL_MOVES, goal.status, "working"))
    for plan in store.plans_of_goal(tx, access, goal.id):
        if plan.status in ("blocked", "failed"):
            resume_plan(tx, access, plan.id, rules, key=goal.session_key)
    return find_goal(tx, access, goal.id, key=goal.session_key)


def replan_goal(
    tx: Tx, access: Access, goal_id: str, reason: str, rules: Rules, *, key: SessionKey | None = None
) -> Goal:  # fmt: skip
    """Take a goal back to planning: plans that have not begun are skipped, working ones held."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    # Working plans stop first.
    stop = walk(GOAL_MOVES, "working", "blocked") if goal.status == "working" else ()
    way = (*stop, *walk(GOAL_MOVES, stop[-1] if stop else goal.status, "planning"))
    for plan in _open_plans(tx, access, goal):
        if plan.status == "working":
            enter_plan(tx, access, structs.replace(plan, held=True), "blocked")
        elif plan.status != "blocked":
            end_plan_of_goal(tx, access, plan, "skipped", rules)
    return enter_goal(tx, access, goal, way, reason=reason)


def delete_goal(tx: Tx, access: Access, goal_id: str, rules: Rules, *, key: SessionKey | None = None) -> None:
    """Delete a goal with its plans and memories; its tasks stay, as independent tasks."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    for plan in store.plans_of_goal(tx, access, goal.id):
        delete_plan(tx, access, plan, rules)
    for task in tasks_planned(tx, access, goal_id=goal.id):
        release_planned(tx, access, task)
    store.delete_goal(tx, access, goal.id)
    forget_scope(tx, access, Scope.of_goal(goal.session_key.identity, goal.id), goal.agent_id)
    publish_goal(tx, access, "goal.updated", structs.replace(goal, status="cancelled"), deleted=True)


def delete_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> None:
    """Delete a plan whose goal is locked, after cancelling it; its tasks stay, as independent tasks."""
    if PLAN_MOVES[plan.status]:
        end_plan_of_goal(tx, access, plan, "cancelled", rules)
    for task in hold_planned(tx, access, plan.id):
        release_planned(tx, access, task)
    store.delete_plan(tx, access, plan.id)


def plan_goal_tasks(
    tx: Tx, access: Access, goal_id: str, new: tuple[PlannedTask, ...], *, key: SessionKey | None = None
) -> list[Task]:  # fmt: skip
    """Add tasks to the newest plan of a goal that has not begun, else to a new one; all or none."""
    goal = find_goal(tx, access, goal_id, key=key, hold=True)
    waiting = [plan for plan in store.plans_of_goal(tx, access, goal.id) if plan.status in ("drafting", "ready")]
    plan = waiting[-1] if waiting else draft_plan(tx, access, goal.session_key, title=goal.name, goal=goal)
    return add_tasks(tx, access, plan.id, new, key=goal.session_key)


def tasks_of_session(tx: Tx, access: Access, key: SessionKey, *, limit: int) -> list[Task]:
    """Return tasks of a session's newest goals, then of its plans without a goal."""
    found: list[Task] = []
    for goal in store.goals_of_session(tx, access, str(key), limit=limit):
        found += tasks_planned(tx, access, goal_id=goal.id)
    for plan in store.plans_of_session(tx, access, key, limit=limit):
        found += tasks_planned(tx, access, plan_id=plan.id) if plan.goal_id is None else []
    return found[:limit]


def next_open_task(tx: Tx, access: Access, goal: Goal, besides: Collection[str] = ()) -> Task | None:
    """Return a goal's task to work on next, `besides` some: one in progress, else the first with dependencies done."""
    tasks = [task for task in tasks_planned(tx, access, goal_id=goal.id) if task.id not in besides]
    waiting = [one for one in progress_of(tx, access, tasks, goal.agent_id) if one.task.status in _OPEN_TASKS]
    begun = [one.task for one in waiting if one.task.status == "in_progress"]
    return next(iter([*begun, *(one.task for one in waiting if one.is_ready)]), None)


def _open_plans(tx: Tx, access: Access, goal: Goal) -> list[Plan]:
    plans = store.plans_of_goal(tx, access, goal.id)
    return [plan for plan in plans if PLAN_MOVES[plan.status] and plan.status != "failed"]


def _check(name: str, description: str, metadata: dict[str, Any] | None) -> None:
    if not name.strip():
        raise invalid("name", "A goal needs a name.")
    check_length("name", name, GOAL_NAME_CHARS_MAX)
    check_length("description", description, GOAL_DESCRIPTION_CHARS_MAX)
    check_metadata(metadata or {})
