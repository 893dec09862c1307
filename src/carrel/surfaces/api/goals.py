"""Goals: what a session is to achieve, with the plans and tasks that lead there."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field, structs

from carrel.goals import (
    GOAL_MOVES,
    GoalChange,
    GoalShape,
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
from carrel.kernel.limits import GOAL_DESCRIPTION_CHARS_MAX, GOAL_NAME_CHARS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, endpoint, one, page_of
from carrel.surfaces.api.session_ids import OfSession, PageOfSession, required, session_if_named, session_named
from carrel.surfaces.http.described import SOME_TEXT

# The room below checks these and words the refusals; here they are only described.
Name = Annotated[str, Meta(extra_json_schema={"pattern": SOME_TEXT, "maxLength": GOAL_NAME_CHARS_MAX})]
Description = Annotated[str, Meta(extra_json_schema={"maxLength": GOAL_DESCRIPTION_CHARS_MAX})]
FirstStatus = Annotated[str, Meta(extra_json_schema={"enum": ["submitted", *GOAL_MOVES["submitted"]]})]
Status = Annotated[str, Meta(extra_json_schema={"enum": list(GOAL_MOVES)})]


class GoalBody(OfSession, frozen=True, kw_only=True):
    """A new goal, and the session it belongs to."""

    name: Name
    description: Description = ""
    status: FirstStatus | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class GoalPatch(OfSession, frozen=True, kw_only=True):
    """Changes of a goal; fields left out stay as they are. A session that is named must be the goal's own."""

    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class GoalsQuery(PageOfSession, frozen=True, kw_only=True):
    """Which goals: of one session, or of all that the caller may see."""

    all: bool = False


@endpoint("GET", "/api/goals", answers={200: page_of("goals", GoalShape)}, who=PEOPLE, query=GoalsQuery)
def list_goals(call: Call[None, GoalsQuery], tx: Tx, access: Access) -> Page[GoalShape]:
    """List the goals of a session, or with `all` of all sessions that the caller may see, newest first."""
    limit, position = clamp(call.query.limit), read_cursor(call.query.cursor, tuple[str])
    before = position[0] if position else None
    if call.query.all:
        found = goals_seen(tx, access, before=before, limit=limit + 1)
    else:
        key = session_named(tx, access, required(call.query.session_id))
        found = goals_of_session(tx, access, key, before=before, limit=limit + 1)
    page, following = cut(found, limit, lambda goal: (goal.id,))
    return Page([goal_shape(tx, access, goal) for goal in page], following)


@endpoint("POST", "/api/goals", answers={201: one("goal", GoalShape)}, who=PEOPLE, body=GoalBody, creates=True)
def create_goal(call: Call[GoalBody, NoQuery], tx: Tx, access: Access) -> GoalShape:
    """Create a goal of a session."""
    new = structs.asdict(call.body)
    key = session_named(tx, access, required(new.pop("session_id")))
    return goal_shape(tx, access, make_goal(tx, access, key, **new))


@endpoint("GET", "/api/goals/{id}", answers={200: one("goal", GoalShape)}, who=PEOPLE, query=OfSession)
def show_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> GoalShape:
    """Get a goal with its plans and tasks."""
    key = session_if_named(tx, access, call.query.session_id)
    return goal_shape(tx, access, find_goal(tx, access, call.path("id"), key=key))


@endpoint("PATCH", "/api/goals/{id}", answers={200: one("goal", GoalShape)}, who=PEOPLE, body=GoalPatch)
def patch_goal(call: Call[GoalPatch, NoQuery], tx: Tx, access: Access) -> GoalShape:
    """Change a goal; cancelling it skips its plans that wait, fails those that work, and cancels their runs."""
    changes = structs.asdict(call.body)
    key = session_if_named(tx, access, changes.pop("session_id"))
    goal = change_goal(tx, access, call.path("id"), GoalChange(**changes), call.house.rules, key=key)
    return goal_shape(tx, access, goal)


@endpoint("DELETE", "/api/goals/{id}", answers={204: None}, who=PEOPLE, query=OfSession)
def remove_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> None:
    """Delete a goal with its plans and its memory; its tasks stay."""
    delete_goal(tx, access, call.path("id"), call.house.rules, key=session_if_named(tx, access, call.query.session_id))


@endpoint("POST", "/api/goals/{id}/complete", answers={200: one("goal", GoalShape)}, who=PEOPLE, query=OfSession)
def finish_goal(call: Call[None, OfSession], tx: Tx, access: Access) -> GoalShape:
    """Complete a goal; the rest of its plans is no longer worked on."""
    key = session_if_named(tx, access, call.query.session_id)
    return goal_shape(tx, access, complete_goal(tx, access, call.path("id"), call.house.rules, key=key))
