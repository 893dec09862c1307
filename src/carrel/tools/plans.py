"""The tools of plan mode. They act on the plan of the caller's own session."""

from typing import Annotated

from msgspec import Meta, convert, to_builtins

from carrel.goals import PlannedTask, PlanShape, plan_shape
from carrel.kernel import Shape, limits
from carrel.kernel.fields import Id
from carrel.modes import SET_PLAN, active_plan, hold_open_plan, plan_state, write_plan
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Tool, answer


class GetPlan(Params, frozen=True, kw_only=True):
    """No parameters."""


class NewPlanTask(Params, frozen=True, kw_only=True):
    """A task of the plan; a dependency is the id of a task, or `task-<n>` for one of this list, from task-0 on."""

    title: Annotated[str, Meta(min_length=1, max_length=limits.TASK_TITLE_CHARS_MAX, description="what is to be done")]
    description: Annotated[str, Meta(max_length=limits.TASK_DESCRIPTION_CHARS_MAX, description="more about it")] = ""
    dependencies: Annotated[
        tuple[Id, ...],
        Meta(
            max_length=limits.TASK_DEPENDENCIES_MAX,
            description="what comes before: ids of tasks, or task-<n>, the n-th from 0",
        ),
    ] = ()


PlanTasks = Annotated[
    tuple[NewPlanTask, ...], Meta(max_length=limits.PLAN_TASKS_MAX, description="every piece of work")
]


class SetPlan(Params, frozen=True, kw_only=True):
    """The whole plan as text, and its tasks in their order; tasks that were set before are replaced."""

    markdown: Annotated[
        str, Meta(min_length=1, max_length=limits.PLAN_MARKDOWN_CHARS_MAX, description="the text: why and how")
    ]
    title: Annotated[str, Meta(max_length=limits.GOAL_NAME_CHARS_MAX, description="its title")] | None = None
    tasks: PlanTasks | None = None


class PlanFound(Shape, frozen=True, kw_only=True):
    """Whether this session is in plan mode, and the plan it works on, if any."""

    enabled: bool
    plan: PlanShape | None


PlanWritten = answer("PlanWritten", "The plan as it is now.", plan=PlanShape)


def _get(tx: Tx, caller: Caller, _params: GetPlan) -> Result:
    access = caller.own_access
    state = plan_state(tx, access, caller.key)
    plan = active_plan(tx, access, state)
    shown = None if plan is None else plan_shape(tx, access, plan)
    return Result(value=to_builtins(PlanFound(enabled=state.enabled, plan=shown)))


def _lock(tx: Tx, caller: Caller, _params: SetPlan) -> None:
    hold_open_plan(tx, caller.own_access, caller.key)


def _set(tx: Tx, caller: Caller, params: SetPlan) -> Result:
    tasks = convert(params.tasks, tuple[PlannedTask, ...] | None, from_attributes=True)
    access = caller.own_access
    plan = write_plan(tx, access, caller.key, markdown=params.markdown, title=params.title, tasks=tasks)
    return Result(value=to_builtins(PlanWritten(plan=plan_shape(tx, access, plan))))


PLAN_TOOLS = (
    Tool("plan_get", "read the plan of its session",
         "Get whether this session is in plan mode, and the plan it works on with the status of its tasks.",
         "read", GetPlan, _get, PlanFound),
    Tool(SET_PLAN, "write the plan of its session",
         "Write the plan of this session: its text and its tasks, which run once a person approves it.",
         "write", SetPlan, _set, PlanWritten, lock=_lock),
)  # fmt: skip
