"""Goals: what a session is to achieve, with the plans and tasks that lead there."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field, structs

from carrel.goals import (
    GOAL_MOVES,
    Goal,
    GoalChange,
    GoalShape,
    change_goal,
    complete_goal,
    delete_goal,
    find_goal,
    goal_shape,
    goals_of_session,
    make_goal,
)
from carrel.kernel import PEOPLE, Access, SessionKey
from carrel.kernel.limits import GOAL_DESCRIPTION_CHARS_MAX, GOAL_NAME_CHARS_MAX
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.fields import Cursor
from carrel.surfaces.api.session_ids import SessionId, refused_by_name, required
from carrel.surfaces.http.described import SOME_TEXT

# The room below checks these, with codes and sentences of its own; the document says what it accepts.
Name = Annotated[str, Meta(extra_json_schema={"pattern": SOME_TEXT, "maxLength": GOAL_NAME_CHARS_MAX})]
Description = Annotated[str, Meta(extra_json_schema={"maxLength": GOAL_DESCRIPTION_CHARS_MAX})]
FirstStatus = Annotated[str, Meta(extra_json_schema={"enum": ["submitted", *GOAL_MOVES["submitted"]]})]
Status = Annotated[str, Meta(extra_json_schema={"enum": list(GOAL_MOVES)})]


class GoalBody(In, frozen=True, kw_only=True):
    """A new goal, and the session it belongs to."""

    session_id: SessionId | None = None
    name: Name
    description: Description = ""
    status: FirstStatus | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class GoalPatch(In, frozen=True, kw_only=True):
    """Changes of a goal; fields left out stay as they are. A session that is named must be the goal's own."""

    session_id: SessionId | None = None
    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class GoalsQuery(In, frozen=True, kw_only=True):
    """Which session's goals, and which page."""

    session_id: SessionId | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class OfSession(In, frozen=True, kw_only=True):
    """The session that the goal must belong to, if one is named."""

    session_id: SessionId | None = None


class GoalList(Out, frozen=True, kw_only=True):
    """A page of a session's goals, newest first."""

    goals: list[GoalShape]
    next_cursor: str | None


class OneGoal(Out, frozen=True, kw_only=True):
    """One goal, with its plans and tasks."""

    goal: GoalShape


@endpoint("GET", "/api/goals", answers={200: GoalList}, who=PEOPLE, query=GoalsQuery, tool="goal_list")
async def list_goals(call: Call[None, GoalsQuery]) -> GoalList:
    """List the goals of a session, newest first."""
    reference, limit = required(call.query.session_id), clamp(call.query.limit)
    position = read_cursor(call.query.cursor, tuple[str])

    def work(tx: Tx, access: Access) -> GoalList:
        key = _session(tx, access, reference)
        found = goals_of_session(tx, access, key, before=position[0] if position else None, limit=limit + 1)
        page, following = cut(found, limit, lambda goal: (goal.id,))
        return GoalList(goals=[goal_shape(tx, access, goal) for goal in page], next_cursor=following)

    return await call.long_read(work)


@endpoint("POST", "/api/goals", answers={201: OneGoal}, who=PEOPLE, body=GoalBody, creates=True, tool="goal_create")
async def create_goal(call: Call[GoalBody, NoQuery]) -> OneGoal:
    """Create a goal of a session."""
    body, reference = call.body, required(call.body.session_id)

    def work(tx: Tx, access: Access) -> OneGoal:
        key = _session(tx, access, reference)
        goal = make_goal(
            tx, access, key, name=body.name, description=body.description, metadata=body.metadata, status=body.status
        )
        return call.promise(tx, _shown(tx, access, goal))

    return await call.write(work)


@endpoint("GET", "/api/goals/{id}", answers={200: OneGoal}, who=PEOPLE, query=OfSession)
async def show_goal(call: Call[None, OfSession]) -> OneGoal:
    """Get a goal with its plans and tasks."""

    def work(tx: Tx, access: Access) -> OneGoal:
        key = _named(tx, access, call.query.session_id)
        return _shown(tx, access, find_goal(tx, access, call.path("id"), key=key))

    return await call.read(work)


@endpoint("PATCH", "/api/goals/{id}", answers={200: OneGoal}, who=PEOPLE, body=GoalPatch, tool="goal_update")
async def patch_goal(call: Call[GoalPatch, NoQuery]) -> OneGoal:
    """Change a goal; cancelling it skips its plans that wait, fails those that work, and cancels their runs."""
    changes = structs.asdict(call.body)
    reference = changes.pop("session_id")

    def work(tx: Tx, access: Access) -> OneGoal:
        key = _named(tx, access, reference)
        return _shown(
            tx, access, change_goal(tx, access, call.path("id"), GoalChange(**changes), call.house.rules, key=key)
        )

    return await call.write(work)


@endpoint("DELETE", "/api/goals/{id}", answers={204: None}, who=PEOPLE, query=OfSession)
async def remove_goal(call: Call[None, OfSession]) -> None:
    """Delete a goal with its plans and its memory; its tasks stay."""

    def work(tx: Tx, access: Access) -> None:
        delete_goal(tx, access, call.path("id"), call.house.rules, key=_named(tx, access, call.query.session_id))

    await call.write(work)


@endpoint("POST", "/api/goals/{id}/complete", answers={200: OneGoal}, who=PEOPLE, query=OfSession, tool="goal_complete")
async def finish_goal(call: Call[None, OfSession]) -> OneGoal:
    """Complete a goal; what is left of its plans is not done any more."""

    def work(tx: Tx, access: Access) -> OneGoal:
        key = _named(tx, access, call.query.session_id)
        return _shown(tx, access, complete_goal(tx, access, call.path("id"), call.house.rules, key=key))

    return await call.write(work)


def _shown(tx: Tx, access: Access, goal: Goal) -> OneGoal:
    return OneGoal(goal=goal_shape(tx, access, goal))


def _session(tx: Tx, access: Access, reference: str) -> SessionKey:
    with refused_by_name():
        return find_session(tx, access, reference).key


def _named(tx: Tx, access: Access, reference: str | None) -> SessionKey | None:
    return None if reference is None else _session(tx, access, reference)
