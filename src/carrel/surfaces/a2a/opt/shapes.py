"""Goals, plans and tasks as OPT shows them: objectives, plans and plan tasks."""

from carrel.goals import Goal, Plan
from carrel.kernel import iso
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.work import Task, TaskShape

# Our statuses where OPT has other names for them.
_OBJECTIVE = {"cancelled": "canceled"}
_PLAN = {"drafting": "pending", "ready": "pending", "cancelled": "skipped"}
_TASK = {
    "inbox": "pending",
    "assigned": "pending",
    "in_progress": "working",
    "review": "working",
    "blocked": "blocked",
    "done": "completed",
    "archived": "canceled",
}
# The other way round; a plan that is pending can be begun.
GOAL_STATUS = {"canceled": "cancelled"}
PLAN_STATUS = {"pending": "ready"}
_TASK_STATUS = {"working": "in_progress", "completed": "done", "canceled": "archived"}


def objective_json(goal: Goal) -> Json:
    """Return a goal as an objective, without its plans."""
    return {
        "id": goal.id,
        "name": goal.name,
        "description": goal.description,
        "status": _OBJECTIVE.get(goal.status, goal.status),
        "metadata": goal.metadata,
        "createdAt": iso(goal.created_at),
        "updatedAt": iso(goal.updated_at),
    }


def plan_json(plan: Plan) -> Json:
    """Return a plan, without its tasks."""
    return {
        "id": plan.id,
        "objectiveId": plan.goal_id,
        "name": plan.title,
        "description": plan.markdown,
        "status": _PLAN.get(plan.status, plan.status),
        "dependencies": list(plan.dependencies),
        "metadata": plan.metadata,
        "createdAt": iso(plan.created_at),
        "updatedAt": iso(plan.updated_at),
    }


def plan_task_json(task: TaskShape, run_id: str | None) -> Json:
    """Return a task as a plan task, with its newest run."""
    shown: Json = {
        "id": task.id,
        "planId": task.plan_id,
        "objectiveId": task.goal_id,
        "name": task.title,
        "description": task.description,
        "taskIndex": task.task_index or 0,
        "dependencies": task.dependencies,
        "status": plan_task_status(task),
        "metadata": task.metadata,
    }
    return shown | ({"a2aTaskId": run_id} if run_id else {})


def plan_task_status(task: Task | TaskShape) -> str:
    """Return a task's status as OPT names it."""
    has_failed = task.status == "blocked" and task.metadata.get("failed") is True
    return "failed" if has_failed else _TASK[task.status]


def status_of_task(task: Task, wanted: str) -> str:
    """Return the status for a task that should become `wanted`: its own if that already counts as `wanted`."""
    if plan_task_status(task) == wanted:
        return wanted if wanted == "failed" else task.status
    if wanted == "pending":
        # What was begun before keeps its assignees.
        return "assigned" if task.status == "blocked" else "inbox"
    return _TASK_STATUS.get(wanted, wanted)
