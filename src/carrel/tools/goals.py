"""The tools for goals: those of the caller's own session, or of the session whose goal its task is of."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from carrel.goals import (
    Goal,
    GoalChange,
    PlannedTask,
    change_goal,
    complete_goal,
    goal_of_task,
    goal_shape,
    goals_of_session,
    lock_goal,
    make_goal,
    plan_goal_tasks,
)
from carrel.kernel import Access, SessionKey, clip
from carrel.kernel.limits import (
    CLIENT_ID_CHARS_MAX,
    GOAL_DESCRIPTION_CHARS_MAX,
    GOAL_NAME_CHARS_MAX,
    LIST_ROWS_MAX,
    PLAN_TASKS_MAX,
    TASK_DEPENDENCIES_MAX,
    TASK_DESCRIPTION_CHARS_MAX,
    TASK_TITLE_CHARS_MAX,
    TOOL_MESSAGE_CHARS_MAX,
    TOOL_RESULT_BYTES_MAX,
)
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Tool
from carrel.tools.tasks.shapes import first_that_fit
from carrel.work import TaskShape, task_shapes

GoalId = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX, description="id of a goal")]
GoalName = Annotated[str, Meta(min_length=1, max_length=GOAL_NAME_CHARS_MAX)]
GoalText = Annotated[str, Meta(max_length=GOAL_DESCRIPTION_CHARS_MAX)]
Dependency = Annotated[
    str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX, description="id of a task, or task-<n>, the n-th from 0")
]
GoalStatus = Literal["submitted", "planning", "working", "blocked", "completed", "failed", "cancelled"]


class ListGoals(Params, frozen=True, kw_only=True):
    """Nothing: the goals are those of this session."""


class CreateGoal(Params, frozen=True, kw_only=True):
    """What is to be achieved."""

    name: GoalName
    description: GoalText = ""


class UpdateGoal(Params, frozen=True, kw_only=True):
    """Which goal, and what to change; what is left out stays."""

    id: GoalId
    name: GoalName | None = None
    description: GoalText | None = None
    status: GoalStatus | None = None


class OneGoal(Params, frozen=True, kw_only=True):
    """Which goal."""

    id: GoalId


class NewPlanTask(Params, frozen=True, kw_only=True):
    """One task of a plan, and the tasks that must be done before it."""

    title: Annotated[str, Meta(min_length=1, max_length=TASK_TITLE_CHARS_MAX)]
    description: Annotated[str, Meta(max_length=TASK_DESCRIPTION_CHARS_MAX)] = ""
    dependencies: Annotated[tuple[Dependency, ...], Meta(max_length=TASK_DEPENDENCIES_MAX)] = ()


class PlanTasks(Params, frozen=True, kw_only=True):
    """Which goal, and the tasks that lead to it; they are added all or none."""

    goal_id: GoalId
    tasks: Annotated[tuple[NewPlanTask, ...], Meta(min_length=1, max_length=PLAN_TASKS_MAX)]


class Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a result."""


class BriefPlan(Shape, frozen=True, kw_only=True):
    """A plan without its text."""

    id: str
    title: str
    status: str


class BriefTask(Shape, frozen=True, kw_only=True):
    """A task without its texts."""

    id: str
    plan_id: str | None
    title: str
    status: str
    dependencies: list[str]


class BriefGoal(Shape, frozen=True, kw_only=True):
    """A goal with what its plans and tasks are at; a long description is clipped."""

    id: str
    session_id: str
    name: str
    description: str
    status: str
    plans: list[BriefPlan]
    tasks: list[BriefTask]
    created_at: str
    updated_at: str


class GoalResult(Shape, frozen=True, kw_only=True):
    """A goal."""

    goal: BriefGoal


class GoalsResult(Shape, frozen=True, kw_only=True):
    """The goals of this session, newest first."""

    goals: list[BriefGoal]


class PlannedResult(Shape, frozen=True, kw_only=True):
    """The tasks that were added, in their order."""

    tasks: list[BriefTask]


def goal_session(tx: Tx, caller: Caller) -> SessionKey:
    """Return the session whose goals the caller may use: its own, or that of the goal that its run works for."""
    task_id = None if caller.run is None else caller.run.task_id
    goal = None if task_id is None else goal_of_task(tx, caller.access, task_id)
    return caller.key if goal is None else goal.session_key


def _lock(tx: Tx, caller: Caller, params: Any) -> None:
    """Lock the goal that a call changes, before the lane and the run of its caller."""
    lock_goal(tx, caller.access, params.goal_id if isinstance(params, PlanTasks) else params.id)


def _list(tx: Tx, caller: Caller, _params: ListGoals) -> Result:
    goals = goals_of_session(tx, caller.access, goal_session(tx, caller), limit=LIST_ROWS_MAX)
    brief = [to_builtins(_brief(tx, caller.access, goal)) for goal in goals]
    return Result(value={"goals": first_that_fit(brief, TOOL_RESULT_BYTES_MAX // 2)})


def _create(tx: Tx, caller: Caller, params: CreateGoal) -> Result:
    key = goal_session(tx, caller)
    return _result(tx, caller, make_goal(tx, caller.access, key, name=params.name, description=params.description))


def _update(tx: Tx, caller: Caller, params: UpdateGoal) -> Result:
    wanted = {"name": params.name, "description": params.description, "status": params.status}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    key, rules = goal_session(tx, caller), caller.services.rules
    return _result(tx, caller, change_goal(tx, caller.access, params.id, GoalChange(**given), rules, key=key))


def _complete(tx: Tx, caller: Caller, params: OneGoal) -> Result:
    key, rules = goal_session(tx, caller), caller.services.rules
    return _result(tx, caller, complete_goal(tx, caller.access, params.id, rules, key=key))


def _plan_tasks(tx: Tx, caller: Caller, params: PlanTasks) -> Result:
    new = tuple(
        PlannedTask(title=one.title, description=one.description, dependencies=one.dependencies) for one in params.tasks
    )
    access, key = caller.access, goal_session(tx, caller)
    made = plan_goal_tasks(tx, access, params.goal_id, new, key=key)
    brief = [to_builtins(_brief_task(task)) for task in task_shapes(tx, access, made)]
    return Result(value={"tasks": first_that_fit(brief, TOOL_RESULT_BYTES_MAX // 2)})


def _result(tx: Tx, caller: Caller, goal: Goal) -> Result:
    return Result(value={"goal": to_builtins(_brief(tx, caller.access, goal))})


def _brief(tx: Tx, access: Access, goal: Goal) -> BriefGoal:
    shape = goal_shape(tx, access, goal)
    return BriefGoal(
        id=shape.id,
        session_id=shape.session_id,
        name=shape.name,
        description=clip(shape.description, TOOL_MESSAGE_CHARS_MAX),
        status=shape.status,
        plans=[BriefPlan(id=plan.id, title=plan.title, status=plan.status) for plan in shape.plans],
        tasks=first_that_fit([_brief_task(task) for task in shape.tasks], TOOL_RESULT_BYTES_MAX // 4),
        created_at=shape.created_at,
        updated_at=shape.updated_at,
    )


def _brief_task(task: TaskShape) -> BriefTask:
    return BriefTask(
        id=task.id, plan_id=task.plan_id, title=task.title, status=task.status, dependencies=task.dependencies
    )


GOAL_TOOLS = (
    Tool(
        name="goal_list",
        does="list the goals of its session",
        description="List the goals of this session, with the statuses of their plans and tasks, newest first.",
        params=ListGoals,
        effect="read",
        act=_list,
        result_type=GoalsResult,
    ),
    Tool(
        name="goal_create",
        does="create a goal",
        description="Create a goal of this session: what is to be achieved over several turns or tasks.",
        params=CreateGoal,
        effect="write",
        act=_create,
        result_type=GoalResult,
    ),
    Tool(
        name="goal_update",
        does="change a goal",
        description="Change the name, description or status of a goal; cancelled, it ends its plans and their runs.",
        params=UpdateGoal,
        effect="write",
        act=_update,
        result_type=GoalResult,
        lock=_lock,
    ),
    Tool(
        name="goal_complete",
        does="say that a goal is achieved",
        description="Say that a goal is achieved; what is left of its plans is not done any more.",
        params=OneGoal,
        effect="write",
        act=_complete,
        result_type=GoalResult,
        lock=_lock,
    ),
    Tool(
        name="goal_plan_tasks",
        does="add tasks that lead to a goal",
        description="Add tasks that lead to a goal, all or none, with what each depends on. They run once approved.",
        params=PlanTasks,
        effect="write",
        act=_plan_tasks,
        result_type=PlannedResult,
        lock=_lock,
    ),
)
