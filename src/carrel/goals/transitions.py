"""Applies the results of runs and tasks to plans and goals, and starts what has become ready.

The plan must be locked, after its goal; tasks are locked next, before lanes and runs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from carrel.goals import store
from carrel.goals.model import ENDED_PLANS, GOAL_MOVES, PLAN_MOVES, Goal, GoalStatus, Plan, PlanStatus, walk
from carrel.goals.shapes import goal_shape, plan_shape
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import Access, clip, one_line
from carrel.kernel.limits import BLOCKED_REASON_CHARS_MAX
from carrel.runs import Rules, Run
from carrel.storage import Tx
from carrel.work import Progress, Task, hold_planned, move_planned, progress_of, start_planned

ENDED_TASKS = ("done", "archived")
_CANCELLED = "Its run was cancelled."
# A plan waits until the plans it depends on have one of these.
_PASSED = ("completed", "skipped", "cancelled")


class Ended(Struct, frozen=True):
    """A task that the end of its run moves; `failure` says why the run did not succeed."""

    task: Task
    to: Literal["done", "in_progress", "blocked"]
    failure: str | None = None


def ended_tasks(steps: Iterable[Progress], *, is_begun: bool = True) -> list[Ended]:
    """Return the tasks that the end of their run moves, and that nobody has moved since.

    A turn that ends completes nothing by itself: its task stays in progress until somebody says that it is done. Before
    a plan begins, only runs that its caller linked to its tasks count.
    """
    counting = [one for one in steps if one.run is not None and _counts(one.task, one.run)]
    found = (_ended(one, one.run) for one in counting if one.run and (is_begun or one.run.provenance_kind == "a2a"))
    return [ended for ended in found if ended is not None]


def _ended(step: Progress, run: Run) -> Ended | None:
    if run.state != "completed":
        told = _CANCELLED if run.state == "cancelled" else f"Its run failed: {run.error_message or run.reason}"
        return Ended(step.task, "blocked", clip(one_line(told), BLOCKED_REASON_CHARS_MAX))
    if step.says_done:
        return Ended(step.task, "done")
    # A failed task continues, since this run of it did not fail.
    return Ended(step.task, "in_progress") if has_failed(step.task) else None


def _counts(task: Task, run: Run) -> bool:
    if run.ended_at is None or task.status in ENDED_TASKS:
        return False
    if task.status != "blocked":
        return run.ended_at >= task.status_at
    # The agent, or a person, may have blocked the task during the run; only the end of a run that began later moves it
    # then. A task that failed with its run is moved by whichever run ends next.
    since = run.ended_at if has_failed(task) else run.created_at
    return since > task.status_at


def has_failed(task: Task) -> bool:
    """Return whether a task is blocked because nobody could do it."""
    return task.status == "blocked" and task.metadata.get("failed") is True


def is_live(run: Run | None) -> bool:
    return run is not None and run.ended_at is None


def plan_status(plan: Plan, steps: Sequence[Progress], *, waits_for_plans: bool = False) -> PlanStatus:
    """Return the status of a plan that follows from its tasks."""
    if not steps or plan.status in _PASSED:
        return plan.status
    statuses = [one.task.status for one in steps]
    if any(has_failed(one.task) for one in steps):
        return "failed"
    if all(status in ENDED_TASKS for status in statuses):
        return "completed" if "done" in statuses else plan.status
    if plan.held:
        return plan.status
    waits = any(one.run is not None and one.run.state == "waiting" for one in steps if one.task.status != "done")
    if waits or "blocked" in statuses:
        return "blocked"
    if plan.status in ("drafting", "ready"):
        return plan.status
    moving = waits_for_plans or any(one.is_ready or one.task.status in ("in_progress", "review") for one in steps)
    return "working" if moving else "blocked"


def goal_status(goal: Goal, plans: Sequence[PlanStatus]) -> GoalStatus:
    """Return the status of a goal that follows from its plans."""
    if not plans or goal.status in ("completed", "cancelled"):
        return goal.status
    open_plans = [status for status in plans if status not in ENDED_PLANS]
    if not open_plans:
        if "failed" in plans:
            return "failed"
        return "completed" if "completed" in plans else goal.status
    if all(status == "blocked" for status in open_plans):
        return "blocked"
    return "working" if "working" in open_plans else goal.status


def publish_goal(tx: Tx, access: Access, name: str, goal: Goal, **more: Any) -> None:
    body = json_text({"goal": goal_shape(tx, access, goal), **more})
    append_event(tx, access, name, about_lane(goal.session_key), body)


def publish_plan(tx: Tx, access: Access, name: str, plan: Plan) -> None:
    append_event(tx, access, name, about_lane(plan.session_key), json_text({"plan": plan_shape(tx, access, plan)}))


def note(tx: Tx, access: Access, plan_id: str) -> None:
    """Have a plan checked in a transaction of its own."""
    store.note_plan(tx, access, plan_id)
    tx.wake(store.PLANS_NOTED.bell)


def follow_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Apply ended runs to tasks, tasks to the plan and the plan to its goal; start what is ready."""
    goal = None if plan.goal_id is None else store.goal_by_id(tx, access, plan.goal_id)
    if goal is not None and goal.status == "cancelled":
        return plan
    steps = _settled(tx, access, plan, rules)
    others = [store.plan_by_id(tx, access, other) for other in plan.dependencies]
    awaited = [other.status for other in others if other is not None and other.status not in _PASSED]
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
    return enter_goal(tx, access, goal, walk(GOAL_MOVES, goal.status, goal_status(goal, plans)))


def enter_goal(tx: Tx, access: Access, goal: Goal, way: Iterable[GoalStatus], **more: Any) -> Goal:
    """Move a locked goal through these statuses."""
    for status in way:
        goal = store.save_goal(tx, access, structs.replace(goal, status=status))
        publish_goal(tx, access, "goal.updated", goal, **more)
    return goal
