"""The params of OPT's methods. Updates refuse keys that they do not know, everything else ignores them."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from carrel.kernel import decode_json
from carrel.kernel.limits import A2A_PAGE_OBJECTIVES, A2A_PAGE_TASKS_MAX
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import check_json_limits

ObjectiveStatus = Literal["submitted", "planning", "working", "blocked", "completed", "failed", "canceled"]
PlanStatus = Literal["pending", "working", "blocked", "completed", "failed", "skipped"]
TaskStatus = Literal["pending", "working", "blocked", "completed", "failed", "canceled"]
Metadata = dict[str, Any]
B = TypeVar("B", bound="Params")


class Params(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of a method."""


class NewObjective(Params, frozen=True, kw_only=True):
    """objectives/create."""

    name: str
    description: str | None = None
    metadata: Metadata | None = None
    context_id: str | None = None


class ObjectiveWanted(Params, frozen=True, kw_only=True):
    """objectives/get."""

    id: str
    include_plans: bool = True
    include_tasks: bool = True


class ObjectivesWanted(Params, frozen=True, kw_only=True):
    """objectives/list."""

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
    """objectives/update."""

    status: ObjectiveStatus | UnsetType = UNSET


class Replanned(Params, frozen=True, kw_only=True):
    """objectives/replan."""

    id: str
    reason: str | None = None


class NewPlanTask(Params, frozen=True, kw_only=True):
    """One task of plans/create and plans/addTasks."""

    name: str
    description: str | None = None
    dependencies: tuple[str, ...] | None = None


class NewPlan(Params, frozen=True, kw_only=True):
    """plans/create."""

    objective_id: str
    name: str
    description: str | None = None
    tasks: tuple[NewPlanTask, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    metadata: Metadata | None = None


class PlanWanted(Params, frozen=True, kw_only=True):
    """plans/get."""

    id: str
    include_tasks: bool = True


class PlanUpdate(Update, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """plans/update."""

    status: PlanStatus | UnsetType = UNSET


class MoreTasks(Params, frozen=True, kw_only=True):
    """plans/addTasks."""

    id: str
    tasks: Annotated[tuple[NewPlanTask, ...], Meta(min_length=1)]


class Link(Params, frozen=True, kw_only=True):
    """tasks/link."""

    plan_task_id: str
    a2a_task_id: str


class StatusUpdate(Params, frozen=True, kw_only=True):
    """tasks/updateStatus."""

    id: str
    status: TaskStatus


def read_params(kind: type[B], params: object) -> B:
    """Return the params of a method; an error names the field that is wrong."""
    if not isinstance(params, dict):
        raise invalid_params("params", "params must be an object.")
    check_json_limits(params)
    return decode_json(msgspec.json.encode(params), kind)
