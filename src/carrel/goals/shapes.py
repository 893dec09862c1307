"""Goals and plans as every surface shows them."""

from typing import Any

from msgspec import Struct

from carrel.goals import store
from carrel.goals.model import Goal, GoalStatus, Plan, PlanStatus
from carrel.kernel import Access, iso
from carrel.storage import Tx
from carrel.work import TaskShape, task_shapes, tasks_planned


class PlanShape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A plan with its tasks, in their order."""

    id: str
    goal_id: str | None
    session_id: str
    title: str
    markdown: str
    status: PlanStatus
    dependencies: list[str]
    tasks: list[TaskShape]
    created_at: str
    updated_at: str


class GoalShape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A goal with its plans and its tasks."""

    id: str
    session_id: str
    name: str
    description: str
    status: GoalStatus
    metadata: dict[str, Any]
    plans: list[PlanShape]
    tasks: list[TaskShape]
    created_at: str
    updated_at: str


def plan_shape(tx: Tx, access: Access, plan: Plan) -> PlanShape:
    """Return a plan as surfaces show it."""
    return PlanShape(
        id=plan.id,
        goal_id=plan.goal_id,
        session_id=plan.session_key.conversation,
        title=plan.title,
        markdown=plan.markdown,
        status=plan.status,
        dependencies=list(plan.dependencies),
        tasks=task_shapes(tx, access, tasks_planned(tx, access, plan_id=plan.id)),
        created_at=iso(plan.created_at) or "",
        updated_at=iso(plan.updated_at) or "",
    )


def goal_shape(tx: Tx, access: Access, goal: Goal) -> GoalShape:
    """Return a goal as surfaces show it."""
    return GoalShape(
        id=goal.id,
        session_id=goal.session_key.conversation,
        name=goal.name,
        description=goal.description,
        status=goal.status,
        metadata=goal.metadata,
        plans=[plan_shape(tx, access, plan) for plan in store.plans_of_goal(tx, access, goal.id)],
        tasks=task_shapes(tx, access, tasks_planned(tx, access, goal_id=goal.id)),
        created_at=iso(goal.created_at) or "",
        updated_at=iso(goal.updated_at) or "",
    )
