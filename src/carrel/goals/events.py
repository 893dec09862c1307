"""The events of goals and plans; each is about the session."""

from typing import Any

from carrel.goals.model import Goal, Plan
from carrel.goals.shapes import goal_shape, plan_shape
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import Access
from carrel.storage import Tx


def publish_goal(tx: Tx, access: Access, name: str, goal: Goal, **more: Any) -> None:
    """Publish a change of a goal on the feed."""
    body = json_text({"goal": goal_shape(tx, access, goal), **more})
    append_event(tx, access, name, about_lane(goal.session_key), body)


def publish_plan(tx: Tx, access: Access, name: str, plan: Plan) -> None:
    """Publish a change of a plan on the feed."""
    append_event(tx, access, name, about_lane(plan.session_key), json_text({"plan": plan_shape(tx, access, plan)}))
