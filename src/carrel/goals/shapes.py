"""Goals and plans as every surface shows them."""

from typing import Any

from msgspec import structs

from carrel.goals import store
from carrel.goals.model import Goal, GoalFields, GoalStatus, Plan, PlanStatus
from carrel.kernel import Access, Shape
from carrel.storage import Tx
from carrel.work import Task, TaskShape, task_shapes, tasks_planned


class PlanShape(Shape, frozen=True, kw_only=True):
    """A plan with its tasks, in their order."""

    id: str
    goal_id: str | None
    session_id: str
    title: str
    markdown: str
    status: PlanStatus
    dependencies: tuple[str, ...]
    tasks: list[TaskShape]
    created_at: str
    updated_at: str


class GoalShape(GoalFields[str], frozen=True, kw_only=True):
    """A goal with its plans and its tasks."""

    session_id: str
    status: GoalStatus
    metadata: dict[str, Any]
    plans: list[PlanShape]
    tasks: list[TaskShape]


def plan_shape(tx: Tx, access: Access, plan: Plan) -> PlanShape:
    """Return a plan as surfaces show it."""
    tasks = _tasks(tx, access, tasks_planned(tx, access, plan_id=plan.id))
    return PlanShape.of(plan, session_id=plan.session_key.conversation, tasks=tasks)


def goal_shape(tx: Tx, access: Access, goal: Goal) -> GoalShape:
    """Return a goal as surfaces show it."""
    plans = [plan_shape(tx, access, plan) for plan in store.plans_of_goal(tx, access, goal.id)]
    tasks = _tasks(tx, access, tasks_planned(tx, access, goal_id=goal.id))
    return GoalShape.of(goal, session_id=goal.session_key.conversation, plans=plans, tasks=tasks)


def _tasks(tx: Tx, access: Access, tasks: list[Task]) -> list[TaskShape]:
    """The tasks of a goal or plan, without their digests, which may summarise what the reader cannot see."""
    return task_shapes(tx, access, [structs.replace(task, digest=None) for task in tasks])
