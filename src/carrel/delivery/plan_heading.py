"""What a run of a plan is told: the goal, the plan, its tasks, and the results that its own task depends on.

Goal and plan belong to the session they were made in. A run is told of them only in the lane of the plan's task, and
only on behalf of somebody who may read that session; of tasks only those that the run may see.
"""

from carrel.delivery.heading import as_block, as_line
from carrel.goals import Goal, Plan, goal_of_task
from carrel.journal import entries_of_task
from carrel.kernel import Access, limits
from carrel.runs import Run
from carrel.storage import Tx
from carrel.tools import Caller, plan_worked_on
from carrel.visibility import tasks_seen
from carrel.work import Task, needed_tasks, tasks_planned


def plan_heading(tx: Tx, caller: Caller, run: Run, *, can_read_more: bool) -> str:
    """Return what a run is told of its plan; empty if it has none or may not be told."""
    task_id = run.task_id
    if task_id is None or run.session_key.task_id != task_id or not caller.actor.is_planned:
        return ""
    plan = plan_worked_on(tx, caller.access, run.session_key, task_id, run)
    if plan is None:
        return ""
    tasks = _seen(tx, caller.access, tasks_planned(tx, caller.access, plan_id=plan.id))
    needed = _seen(tx, caller.access, needed_tasks(tx, caller.access, task_id))
    results = [_result(tx, caller.access, task, can_read_more) for task in needed[: limits.HEADING_RESULTS_MAX]]
    parts = [_goal(goal_of_task(tx, caller.access, task_id)), _plan(plan), _order(tasks, task_id), *results]
    return "\n".join(part for part in parts if part)


def _seen(tx: Tx, access: Access, tasks: list[Task]) -> list[Task]:
    seen = tasks_seen(tx, access, [task.id for task in tasks])
    return [task for task in tasks if task.id in seen]


def _goal(goal: Goal | None) -> str:
    if goal is None:
        return ""
    described = as_block("Why", goal.description, limits.HEADING_GOAL_CHARS_MAX)
    return "\n".join(filter(None, [f"Goal: {as_line(goal.name, limits.HEADING_TITLE_CHARS_MAX)}", described]))


def _plan(plan: Plan) -> str:
    written = as_block("What the plan says", plan.markdown, limits.HEADING_PLAN_CHARS_MAX)
    titled = as_line(plan.title, limits.HEADING_TITLE_CHARS_MAX)
    # The first line of an untitled plan is its title.
    is_told = plan.markdown.lstrip("# ").startswith(plan.title)
    return "\n".join(filter(None, ["" if is_told and written else f"Plan: {titled}", written]))


def _order(tasks: list[Task], own: str) -> str:
    shown = [
        f"- {as_line(task.title, limits.HEADING_TITLE_CHARS_MAX)} ({'yours' if task.id == own else task.status})"
        for task in tasks[: limits.HEADING_PLAN_TASKS_MAX]
    ]
    more = len(tasks) - len(shown)
    return "\n".join(["Tasks of the plan, in their order:", *shown, *([f"- and {more} more"] if more else [])])


def _result(tx: Tx, access: Access, task: Task, can_read_more: bool) -> str:
    """Return the result of a task that this one depends on: what an agent last said in its thread."""
    said = entries_of_task(tx, access, task.id, "thread", limit=limits.THREAD_ROWS_DEFAULT, after=task.reopened_seq)
    answer = next((entry.content for entry in reversed(said) if entry.author_kind == "agent"), "")
    more = f" (more: task_history with taskId {task.id})" if can_read_more else ""
    title = as_line(task.title, limits.HEADING_TITLE_CHARS_MAX)
    return as_block(f"Result of {title}{more}", answer, limits.HEADING_RESULT_CHARS_MAX)
