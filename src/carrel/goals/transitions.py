"""Applies the results of runs and tasks to plans and goals, and starts what has become ready.

The plan must be locked, after its goal; tasks are locked next, before lanes and runs.
"""

from typing import Any

from msgspec import structs

from carrel.goals import store
from carrel.goals.cascade import ended_tasks, goal_status, plan_status
from carrel.goals.model import GOAL_MOVES, PLAN_MOVES, Goal, Plan, PlanStatus, walk
from carrel.goals.shapes import goal_shape, plan_shape
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import Access
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import Progress, hold_planned, move_planned, progress_of, start_planned

# The bell that is rung when something in a plan may have changed.
PLANS = "plans"
# A plan waits until the plans it depends on have one of these.
_PASSED = ("completed", "skipped", "cancelled")


def publish_goal(tx: Tx, access: Access, name: str, goal: Goal, **more: Any) -> None:
    """Publish a change of a goal on the feed."""
    body = json_text({"goal": goal_shape(tx, access, goal), **more})
    append_event(tx, access, name, about_lane(goal.session_key), body)


def publish_plan(tx: Tx, access: Access, name: str, plan: Plan) -> None:
    """Publish a change of a plan on the feed."""
    append_event(tx, access, name, about_lane(plan.session_key), json_text({"plan": plan_shape(tx, access, plan)}))


def note(tx: Tx, access: Access, plan_id: str) -> None:
    """Have a plan checked in a transaction of its own."""
    store.note_plan(tx, access, plan_id)
    tx.wake(PLANS)


def follow_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Apply ended runs to tasks, tasks to the plan and the plan to its goal; start what is ready."""
    goal = None if plan.goal_id is None else store.goal_by_id(tx, access, plan.goal_id)
    if goal is not None and goal.status == "cancelled":
        return plan
    steps = _settled(tx, access, plan, rules)
    awaited = _awaited(tx, access, plan)
    wanted = plan_status(plan, steps, waits_for_plans=any(status != "failed" for status in awaited))
    # A plan that nobody began does not start by itself when it is unblocked.
    held = plan.held or (wanted == "blocked" and plan.status in ("drafting", "ready"))
    after = enter_plan(tx, access, structs.replace(plan, held=held), wanted)
    if after.status == "working" and not awaited:
        for step in steps:
            if step.is_ready:
                start_planned(tx, access, step.task, plan.agent_id, plan.made_by, rules)
    if goal is not None and after.status != plan.status:
        follow_goal(tx, access, goal)
    return after


def _settled(tx: Tx, access: Access, plan: Plan, rules: Rules) -> list[Progress]:
    """The locked tasks of a plan, after applying the ends of their runs."""
    steps = progress_of(tx, access, hold_planned(tx, access, plan.id), plan.agent_id)
    ended = ended_tasks(steps, is_begun=plan.status not in ("drafting", "ready"))
    for one in ended:
        move_planned(tx, access, one.task, one.to, rules, reason=one.failure, failed=one.failure is not None)
    return progress_of(tx, access, hold_planned(tx, access, plan.id), plan.agent_id) if ended else steps


def _awaited(tx: Tx, access: Access, plan: Plan) -> list[PlanStatus]:
    found = [store.plan_by_id(tx, access, other) for other in plan.dependencies]
    return [other.status for other in found if other is not None and other.status not in _PASSED]


def enter_plan(tx: Tx, access: Access, plan: Plan, to: PlanStatus) -> Plan:
    """Move a locked plan along the shortest legal path; plans that wait for it are checked."""
    for status in walk(PLAN_MOVES, plan.status, to):
        plan = store.save_plan(tx, access, structs.replace(plan, status=status))
        publish_plan(tx, access, "plan.updated", plan)
        if status in (*_PASSED, "failed") and plan.goal_id is not None:
            for other in store.plans_of_goal(tx, access, plan.goal_id):
                if plan.id in other.dependencies:
                    note(tx, access, other.id)
    return plan


def follow_goal(tx: Tx, access: Access, goal: Goal) -> Goal:
    """Apply the statuses of its plans to a locked goal."""
    plans = [plan.status for plan in store.plans_of_goal(tx, access, goal.id)]
    for status in walk(GOAL_MOVES, goal.status, goal_status(goal, plans)):
        goal = store.save_goal(tx, access, structs.replace(goal, status=status))
        publish_goal(tx, access, "goal.updated", goal)
    return goal
