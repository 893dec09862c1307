"""OPT's shapes: goals, plans and tasks as it shows them, and the params of its methods.

Updates refuse keys that they do not know, everything else ignores them.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from carrel.goals import Goal, Plan
from carrel.kernel import decode_json, iso
from carrel.kernel.limits import A2A_PAGE_OBJECTIVES, A2A_PAGE_TASKS_MAX
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import Json, check_json_limits
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
GOAL_STATUS: dict[object, str] = {"canceled": "cancelled"}
PLAN_STATUS: dict[object, str] = {"pending": "ready"}
_TASK_STATUS = {"working": "in_progress", "completed": "done", "canceled": "archived"}
ObjectiveStatus = Literal["submitted", "planning", "working", "blocked", "completed", "failed", "canceled"]
PlanStatus = Literal["pending", "working", "blocked", "completed", "failed", "skipped"]
TaskStatus = Literal["pending", "working", "blocked", "completed", "failed", "canceled"]
Metadata = dict[str, Any]
B = TypeVar("B", bound="Params")


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


class Params(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of a method."""


class NewObjective(Params, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    metadata: Metadata | None = None
    context_id: str | None = None


class ObjectiveWanted(Params, frozen=True, kw_only=True):
    id: str
    include_plans: bool = True
    include_tasks: bool = True


class ObjectivesWanted(Params, frozen=True, kw_only=True):
    status: ObjectiveStatus | None = None
    page_size: Annotated[int, Meta(ge=1, le=A2A_PAGE_TASKS_MAX)] = A2A_PAGE_OBJECTIVES
    page_token: str | None = None


class Update(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the updates of objectives and plans have in common."""

    id: str
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class ObjectiveUpdate(Update, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: ObjectiveStatus | UnsetType = UNSET


class Replanned(Params, frozen=True, kw_only=True):
    id: str
    reason: str | None = None


class NewPlanTask(Params, frozen=True, kw_only=True):
    """One task of plans/create and plans/addTasks."""

    name: str
    description: str | None = None
    dependencies: tuple[str, ...] | None = None


class NewPlan(Params, frozen=True, kw_only=True):
    objective_id: str
    name: str
    description: str | None = None
    tasks: tuple[NewPlanTask, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    metadata: Metadata | None = None


class PlanWanted(Params, frozen=True, kw_only=True):
    id: str
    include_tasks: bool = True


class PlanUpdate(Update, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: PlanStatus | UnsetType = UNSET


class MoreTasks(Params, frozen=True, kw_only=True):
    id: str
    tasks: Annotated[tuple[NewPlanTask, ...], Meta(min_length=1)]


class Link(Params, frozen=True, kw_only=True):
    plan_task_id: str
    a2a_task_id: str


class StatusUpdate(Params, frozen=True, kw_only=True):
    id: str
    status: TaskStatus


def read_params(kind: type[B], params: object) -> B:
    """Return the params of a method; an error names the field that is wrong."""
    if not isinstance(params, dict):
        raise invalid_params("params", "params must be an object.")
    check_json_limits(params)
    return decode_json(msgspec.json.encode(params), kind)
