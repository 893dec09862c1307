"""The tools for goals of the caller's own session, or of the session whose goal its task serves."""

from typing import Annotated, Any, Literal

from msgspec import Meta, convert, structs, to_builtins

from carrel import goals
from carrel.kernel import Access, SessionKey, Shape, clip, limits
from carrel.kernel.fields import Id
from carrel.storage import Tx
from carrel.tools.memory.readers import goal_worked_for
from carrel.tools.model import Caller, Params, Result, Tool, answer
from carrel.tools.plans import NewPlanTask
from carrel.tools.tasks.shapes import first_that_fit
from carrel.work import task_shapes

GoalId = Annotated[Id, Meta(description="id of a goal")]
GoalName = Annotated[
    str, Meta(min_length=1, max_length=limits.GOAL_NAME_CHARS_MAX, description="what is to be achieved")
]
GoalText = Annotated[str, Meta(max_length=limits.GOAL_DESCRIPTION_CHARS_MAX, description="more about it")]
GoalStatus = Literal["submitted", "planning", "working", "blocked", "completed", "failed", "cancelled"]


class ListGoals(Params, frozen=True, kw_only=True):
    """Nothing: the goals are those of this session."""


class CreateGoal(Params, frozen=True, kw_only=True):
    """What is to be achieved."""

    name: GoalName
    description: GoalText = ""


class OneGoal(Params, frozen=True, kw_only=True):
    """Which goal."""

    id: GoalId


class UpdateGoal(OneGoal, frozen=True, kw_only=True):
    """Which goal, and what to change; what is left out stays."""

    name: GoalName | None = None
    description: GoalText | None = None
    status: Annotated[GoalStatus, Meta(description="its new status")] | None = None


class PlanTasks(Params, frozen=True, kw_only=True):
    """Which goal, and the tasks that lead to it; they are added all or none."""

    goal_id: GoalId
    tasks: Annotated[
        tuple[NewPlanTask, ...], Meta(min_length=1, max_length=limits.PLAN_TASKS_MAX, description="in order")
    ]


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


class BriefGoal(goals.GoalFields[str], frozen=True, kw_only=True):
    """A goal with the progress of its plans and tasks; a long description is clipped."""

    session_id: str
    plans: list[BriefPlan]
    tasks: list[BriefTask]


GoalResult = answer("GoalResult", "A goal.", goal=BriefGoal)
GoalsResult = answer("GoalsResult", "The goals of this session, newest first.", goals=list[BriefGoal])
PlannedResult = answer("PlannedResult", "The tasks that were added, in their order.", tasks=list[BriefTask])


def goal_session(tx: Tx, caller: Caller) -> SessionKey:
    """Return the session whose goals the caller may use: its own, or that of the goal its run works for."""
    run = caller.run
    goal = None if run is None else goal_worked_for(tx, caller.access, caller.key, run.task_id, run)
    return caller.key if goal is None else goal.session_key


def _lock(tx: Tx, caller: Caller, params: Any) -> None:
    """Lock the goal that a call changes, before the lane and the run of its caller."""
    goals.lock_goal(tx, caller.access, params.goal_id if isinstance(params, PlanTasks) else params.id)


def _list(tx: Tx, caller: Caller, _params: ListGoals) -> Result:
    found = goals.goals_of_session(tx, caller.access, goal_session(tx, caller), limit=limits.LIST_ROWS_MAX)
    brief = [to_builtins(_brief(tx, caller.access, goal)) for goal in found]
    return Result(value={"goals": first_that_fit(brief, limits.TOOL_RESULT_BYTES_MAX // 2)})


def _create(tx: Tx, caller: Caller, params: CreateGoal) -> Result:
    key = goal_session(tx, caller)
    goal = goals.make_goal(tx, caller.access, key, name=params.name, description=params.description)
    return _result(tx, caller, goal)


def _update(tx: Tx, caller: Caller, params: UpdateGoal) -> Result:
    wanted = {"name": params.name, "description": params.description, "status": params.status}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    key, rules = goal_session(tx, caller), caller.services.rules
    goal = goals.change_goal(tx, caller.access, params.id, goals.GoalChange(**given), rules, key=key)
    return _result(tx, caller, goal)


def _complete(tx: Tx, caller: Caller, params: OneGoal) -> Result:
    key, rules = goal_session(tx, caller), caller.services.rules
    return _result(tx, caller, goals.complete_goal(tx, caller.access, params.id, rules, key=key))


def _plan_tasks(tx: Tx, caller: Caller, params: PlanTasks) -> Result:
    new = convert(params.tasks, tuple[goals.PlannedTask, ...], from_attributes=True)
    access, key = caller.access, goal_session(tx, caller)
    made = goals.plan_goal_tasks(tx, access, params.goal_id, new, key=key)
    brief = convert(task_shapes(tx, access, made), list[BriefTask], from_attributes=True)
    return Result(value={"tasks": to_builtins(first_that_fit(brief, limits.TOOL_RESULT_BYTES_MAX // 2))})


def _result(tx: Tx, caller: Caller, goal: goals.Goal) -> Result:
    return Result(value={"goal": to_builtins(_brief(tx, caller.access, goal))})


def _brief(tx: Tx, access: Access, goal: goals.Goal) -> BriefGoal:
    brief = convert(goals.goal_shape(tx, access, goal), BriefGoal, from_attributes=True)
    tasks = first_that_fit(brief.tasks, limits.TOOL_RESULT_BYTES_MAX // 4)
    return structs.replace(brief, description=clip(brief.description, limits.TOOL_MESSAGE_CHARS_MAX), tasks=tasks)


GOAL_TOOLS = (
    Tool("goal_list", "list the goals of its session",
         "List the goals of this session, with the statuses of their plans and tasks, newest first.",
         "read", ListGoals, _list, GoalsResult),
    Tool("goal_create", "create a goal",
         "Create a goal of this session: what is to be achieved over several turns or tasks.",
         "write", CreateGoal, _create, GoalResult),
    Tool("goal_update", "change a goal",
         "Change the name, description or status of a goal; cancelled, it ends its plans and their runs.",
         "write", UpdateGoal, _update, GoalResult, lock=_lock),
    Tool("goal_complete", "say that a goal is achieved",
         "Say that a goal is achieved; what is left of its plans is not done any more.",
         "write", OneGoal, _complete, GoalResult, lock=_lock),
    Tool("goal_plan_tasks", "add tasks that lead to a goal",
         "Add tasks that lead to a goal, all or none, with what each depends on. They run once approved.",
         "write", PlanTasks, _plan_tasks, PlannedResult, lock=_lock),
)  # fmt: skip
