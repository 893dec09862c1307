"""Goals: what a session is to achieve, with the plans and tasks that lead there."""

from msgspec import structs

from carrel.goals import (
    Goal,
    GoalChange,
    GoalShape,
    NewGoal,
    change_goal,
    complete_goal,
    delete_goal,
    find_goal,
    goal_shape,
    goals_of_session,
    goals_seen,
    make_goal,
)
from carrel.kernel import PEOPLE, Access
from carrel.storage import Tx
from carrel.surfaces.api.cursors import paged_by_id
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, endpoint
from carrel.surfaces.api.session_ids import (
    OfSession,
    PageOfSession,
    SessionId,
    required,
    session_if_named,
    session_named,
)


class GoalBody(NewGoal, frozen=True, kw_only=True):
    """A new goal, and the session it belongs to."""

    session_id: SessionId | None = None


class GoalPatch(GoalChange, frozen=True, kw_only=True):
    """Changes of a goal; fields left out stay as they are. A session that is named must be the goal's own."""

    session_id: SessionId | None = None


class GoalsQuery(PageOfSession, frozen=True, kw_only=True):
    """Which goals: of one session, or of all that the caller may see."""

    all: bool = False


@endpoint("GET", "/api/goals", "goals", who=PEOPLE, tool="goal_list")
def list_goals(call: Call[None, GoalsQuery], tx: Tx, access: Access) -> Page[GoalShape]:
    """List the goals of a session, or with `all` of all sessions that the caller may see, newest first."""
    key = None if call.query.all else call.query.required_key(tx, access)

    def read(before: str | None, most: int) -> list[Goal]:
        if key is None:
            return goals_seen(tx, access, before=before, limit=most)
        return goals_of_session(tx, access, key, before=before, limit=most)

    return paged_by_id(call.query, read).shown(lambda goals: [goal_shape(tx, access, goal) for goal in goals])


@endpoint("POST", "/api/goals", "goal", who=PEOPLE, creates=True, tool="goal_create")
def create_goal(call: Call[GoalBody, NoQuery], tx: Tx, access: Access) -> GoalShape:
    """Create a goal of a session."""
    new = structs.asdict(call.body)
    key = session_named(tx, access, required(new.pop("session_id")))
    return goal_shape(tx, access, make_goal(tx, access, key, **new))


@endpoint("GET", "/api/goals/{id}", "goal", who=PEOPLE)
def show_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> GoalShape:
    """Get a goal with its plans and tasks."""
    key = call.query.key_if_named(tx, access)
    return goal_shape(tx, access, find_goal(tx, access, call.path("id"), key=key))


@endpoint("PATCH", "/api/goals/{id}", "goal", who=PEOPLE, tool="goal_update")
def patch_goal(call: Call[GoalPatch, NoQuery], tx: Tx, access: Access) -> GoalShape:
    """Change a goal; cancelling it skips its plans that wait, fails those that work, and cancels their runs."""
    key = session_if_named(tx, access, call.body.session_id)
    goal = change_goal(tx, access, call.path("id"), call.body, call.services.rules, key=key)
    return goal_shape(tx, access, goal)


@endpoint("DELETE", "/api/goals/{id}", who=PEOPLE)
def remove_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> None:
    """Delete a goal with its plans and its memory; its tasks stay."""
    key = call.query.key_if_named(tx, access)
    delete_goal(tx, access, call.path("id"), call.services.rules, key=key)


@endpoint("POST", "/api/goals/{id}/complete", "goal", who=PEOPLE, tool="goal_complete")
def finish_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> GoalShape:
    """Complete a goal; the rest of its plans is no longer worked on."""
    key = call.query.key_if_named(tx, access)
    return goal_shape(tx, access, complete_goal(tx, access, call.path("id"), call.services.rules, key=key))
