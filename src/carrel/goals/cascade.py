"""What the ends of runs mean for tasks, tasks for their plan, and plans for their goal. Pure."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from carrel.goals.model import ENDED_PLANS, Goal, GoalStatus, Plan, PlanStatus
from carrel.kernel import clip, one_line
from carrel.kernel.limits import BLOCKED_REASON_CHARS_MAX
from carrel.runs import Run
from carrel.work import Progress, Task

_ENDED_TASKS = ("done", "archived")
_CANCELLED = "Its run was cancelled."


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
        return Ended(step.task, "blocked", _failure(run))
    if step.says_done:
        return Ended(step.task, "done")
    # A failed task continues, since this run of it did not fail.
    return Ended(step.task, "in_progress") if has_failed(step.task) else None


def _counts(task: Task, run: Run) -> bool:
    if run.ended_at is None or task.status in _ENDED_TASKS:
        return False
    if task.status != "blocked":
        return run.ended_at >= task.status_at
    # The agent, or a person, may have blocked the task during the run; only the end of a run that began later moves it
    # then. A task that failed with its run is moved by whichever run ends next.
    since = run.ended_at if has_failed(task) else run.created_at
    return since > task.status_at


def _failure(run: Run) -> str:
    told = _CANCELLED if run.state == "cancelled" else f"Its run failed: {run.error_message or run.reason}"
    return clip(one_line(told), BLOCKED_REASON_CHARS_MAX)


def has_failed(task: Task) -> bool:
    """Return whether a task is blocked because nobody could do it."""
    return task.status == "blocked" and task.metadata.get("failed") is True


def is_live(run: Run | None) -> bool:
    """Return whether a run has not ended."""
    return run is not None and run.ended_at is None


def plan_status(plan: Plan, steps: Sequence[Progress], *, waits_for_plans: bool = False) -> PlanStatus:
    """Return the status of a plan that follows from its tasks."""
    statuses = [one.task.status for one in steps]
    if not steps or plan.status in ("completed", "skipped", "cancelled"):
        return plan.status
    if any(has_failed(one.task) for one in steps):
        return "failed"
    if all(status in _ENDED_TASKS for status in statuses):
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
