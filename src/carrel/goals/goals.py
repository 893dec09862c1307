"""Goals of sessions: creating, finding, changing and deleting them."""

from typing import Any

import msgspec
from msgspec import UNSET, structs

from carrel.journal import append_event, json_text
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.kernel.limits import GOAL_DESCRIPTION_CHARS_MAX, GOAL_NAME_CHARS_MAX, TASK_METADATA_BYTES_MAX
from carrel.memory import Scope, forget_scope
from carrel.runs import Rules
from carrel.sessions import lane_of, may_see
from carrel.storage import Tx
from carrel.goals import store
from carrel.goals.events import about_session
from carrel.goals.model import GOAL_MOVES, Goal, GoalChange, require_move
from carrel.goals.plans import end_plan
from carrel.goals.shapes import goal_shape


def make_goal(
    tx: Tx, access: Access, key: SessionKey, *, name: str, description: str = "", metadata: dict[str, Any] | None = None,
    goal_id: str | None = None,
) -> Goal:  # fmt: skip
    """Create a goal of a session."""
    check_goal(name, description, metadata or {})
    goal = Goal(
        id=goal_id or tx.new_id("goal"),
        key=str(key),
        agent_id=key.agent,
        made_by=access.actor_id,
        name=name,
        description=description,
        status="submitted",
        metadata=metadata or {},
        created_at=tx.now,
        updated_at=tx.now,
    )
    store.insert_goal(tx, access, goal)
    publish_goal(tx, access, "goal.created", goal)
    return goal


def find_goal(tx: Tx, access: Access, goal_id: str, *, key: SessionKey | None = None, hold: bool = False) -> Goal:
    """Return a goal of a session that the caller may see; with `key`, of that session only."""
    goal = store.goal_by_id(tx, access, goal_id, hold=hold)
    if goal is None or (key is not None and goal.key != str(key)):
        raise not_found("goal")
    lane = lane_of(tx, access, goal.session_key)
    if not may_see(tx, access, goal.session_key, lane.made_by if lane else goal.made_by):
        raise not_found("goal")
    return goal


def change_goal(tx: Tx, access: Access, goal: Goal, change: GoalChange, rules: Rules) -> Goal:
    """Change a locked goal; cancelling it ends its plans and their runs."""
    check_goal(change.name or goal.name, change.description or "", change.metadata or {})
    given = {name: value for name, value in structs.asdict(change).items() if value is not UNSET}
    if "status" in given:
        require_move(GOAL_MOVES, goal.status, given["status"])
    if all(getattr(goal, name) == value for name, value in given.items()):
        return goal
    changed = store.save_goal(tx, access, structs.replace(goal, **given))
    publish_goal(tx, access, "goal.updated", changed)
    if changed.status == "cancelled" and goal.status != "cancelled":
        for plan in store.plans_of_goal(tx, access, goal.id):
            end_plan(tx, access, plan, "failed" if plan.status == "working" else "skipped", rules)
    return changed


def delete_goal(tx: Tx, access: Access, goal: Goal, rules: Rules) -> None:
    """Delete a locked goal with its plans and what it remembers; its tasks stay, as tasks of their own."""
    for plan in store.plans_of_goal(tx, access, goal.id):
        end_plan(tx, access, plan, "cancelled", rules)
    store.detach_tasks(tx, access, goal.id)
    store.delete_goal(tx, access, goal.id)
    forget_scope(tx, access, Scope.of_goal(goal.session_key.identity, goal.id), goal.agent_id)
    publish_goal(tx, access, "goal.updated", structs.replace(goal, status="cancelled"), deleted=True)


def check_goal(name: str, description: str, metadata: dict[str, Any]) -> None:
    """Refuse what is missing or too long."""
    if not name.strip():
        raise invalid("name", "A goal needs a name.")
    for field, text, most in (
        ("name", name, GOAL_NAME_CHARS_MAX),
        ("description", description, GOAL_DESCRIPTION_CHARS_MAX),
    ):
        if len(text) > most:
            raise Refusal(Code.TOO_LONG, f"{field} has at most {most} characters.", field=field)
    if len(msgspec.json.encode(metadata)) > TASK_METADATA_BYTES_MAX:
        message = f"metadata has at most {TASK_METADATA_BYTES_MAX} bytes as JSON."
        raise Refusal(Code.TOO_LONG, message, field="metadata")


def publish_goal(tx: Tx, access: Access, name: str, goal: Goal, **more: Any) -> None:
    """Publish a change of a goal on the feed."""
    body = {"goal": goal_shape(tx, access, goal), **more}
    append_event(tx, access, name, about_session(goal.session_key), json_text(body))
