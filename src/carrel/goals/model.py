"""Goals and plans as values, and their state machines. Pure.

A goal says why, a plan in what order, its tasks what. A goal never gathers across sessions.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, field

from carrel.kernel import Code, Input, Refusal, Shape, When
from carrel.kernel.fields import SOME_TEXT, at_most, checked, up_to
from carrel.kernel.limits import (
    GOAL_DESCRIPTION_CHARS_MAX,
    GOAL_NAME_CHARS_MAX,
    PLAN_MARKDOWN_CHARS_MAX,
    PLAN_TASKS_MAX,
)
from carrel.sessions import OfSession
from carrel.work import Dependencies, Description, Title, shortest_path

GoalStatus = Literal["submitted", "planning", "working", "blocked", "completed", "failed", "cancelled"]
PlanStatus = Literal["drafting", "ready", "working", "blocked", "completed", "failed", "skipped", "cancelled"]

# This room checks these and words the refusals; here they are only described.
GoalName = Annotated[str, checked(pattern=SOME_TEXT, maxLength=GOAL_NAME_CHARS_MAX)]
GoalDescription = Annotated[str, up_to(GOAL_DESCRIPTION_CHARS_MAX)]

S = TypeVar("S", bound=str)

# The state machines. A status without transitions is final.
GOAL_MOVES: dict[str, tuple[GoalStatus, ...]] = {
    "submitted": ("planning", "working", "cancelled"),
    "planning": ("working", "blocked", "failed", "cancelled"),
    "working": ("blocked", "completed", "failed", "cancelled"),
    "blocked": ("planning", "working", "failed", "cancelled"),
    "completed": (),
    "failed": ("submitted", "planning"),
    "cancelled": ("submitted",),
}
PLAN_MOVES: dict[str, tuple[PlanStatus, ...]] = {
    "drafting": ("ready", "skipped", "cancelled"),
    "ready": ("working", "skipped", "cancelled", "drafting"),
    "working": ("blocked", "completed", "failed", "cancelled"),
    "blocked": ("working", "failed", "skipped", "cancelled"),
    "completed": (),
    "failed": ("ready", "working"),
    "skipped": (),
    "cancelled": (),
}
ENDED_PLANS = ("completed", "failed", "skipped", "cancelled")


class GoalFields(Shape, Generic[When], frozen=True, kw_only=True):
    """What is said of a goal everywhere."""

    id: str
    name: str
    description: str
    status: str
    created_at: When
    updated_at: When


class Goal(OfSession, GoalFields[int], frozen=True, kw_only=True):
    """A goal of a session; its fields are the columns of its table."""

    key: str
    agent_id: str
    made_by: str
    status: GoalStatus
    metadata: dict[str, Any]


class Plan(OfSession, Struct, frozen=True, kw_only=True):
    """A plan of a session, for a goal or on its own; its fields are the columns of its table.

    `held` means that somebody stopped it: then none of its tasks begins, whatever happens to the others.
    """

    id: str
    key: str
    agent_id: str
    made_by: str
    title: str
    markdown: str
    status: PlanStatus
    held: bool
    dependencies: tuple[str, ...]
    metadata: dict[str, Any]
    created_at: int
    updated_at: int
    goal_id: str | None = None


class NewGoal(Input, frozen=True, kw_only=True):
    """A new goal of a session."""

    name: GoalName
    description: GoalDescription = ""
    status: Annotated[str, checked(enum=["submitted", *GOAL_MOVES["submitted"]])] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class GoalChange(Input, frozen=True, kw_only=True):
    """Changes of a goal; fields left out stay as they are. A session that is named must be the goal's own."""

    name: GoalName | UnsetType = UNSET
    description: GoalDescription | UnsetType = UNSET
    status: Annotated[str, checked(enum=list(GOAL_MOVES))] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class PlannedTask(Input, frozen=True, kw_only=True):
    """A task of a plan; a dependency is the id of a task, or `task-<n>` for one of this list, from task-0 on."""

    title: Title
    description: Description = ""
    dependencies: Dependencies = ()


class PlanContent(Input, frozen=True, kw_only=True):
    """The content of a plan; what is left out stays as it is. Tasks replace those that were set before."""

    markdown: Annotated[str, checked(maxLength=PLAN_MARKDOWN_CHARS_MAX, pattern=SOME_TEXT)] | None = None
    title: Annotated[str, Meta(max_length=GOAL_NAME_CHARS_MAX)] | None = None
    tasks: Annotated[tuple[PlannedTask, ...], at_most(PLAN_TASKS_MAX)] | None = None


class PlanChange(Struct, frozen=True, kw_only=True):
    """Changes to a plan; unset fields stay as they are."""

    title: str | UnsetType = UNSET
    markdown: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


def walk(moves: Mapping[str, Iterable[S]], before: str, after: str) -> tuple[S, ...]:
    """Return the shortest legal path between two statuses, without the first; Refusal if there is none."""
    # Passing through any other status would announce something untrue.
    way = () if before == after else shortest_path(moves, before, after, through=("ready", "planning", "working"))
    if way is None:
        raise illegal(moves, before, after)
    return way


def require_move(moves: Mapping[str, Iterable[str]], before: str, after: str) -> None:
    """Refuse a move that is not in the table; the same status is no move."""
    if after not in moves:
        raise Refusal.of_value("status", after, moves)
    if after != before and after not in moves[before]:
        raise illegal(moves, before, after)


def illegal(moves: Mapping[str, Iterable[str]], before: str, after: str) -> Refusal:
    """Return the refusal of a move that is not in the table."""
    onward = " or ".join(moves[before]) or "nothing"
    message = f"What is {before} cannot become {after}; it can become {onward}."
    return Refusal(Code.ILLEGAL_TRANSITION, message, field="status", details={"from": before, "to": after})
