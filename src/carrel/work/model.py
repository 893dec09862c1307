"""A task, its statuses and transitions, and its parties. Pure.

Never merge `Task.status`, which people and agents move, with the state of a run, which the engine moves.
"""

from collections import deque
from collections.abc import Container, Iterable, Mapping
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from carrel.kernel import Code, Input, Refusal, Shape, When, invalid, limits, plain_word
from carrel.kernel.fields import Moment, Name, NewId, ShortText, at_most, checked, up_to
from carrel.topics import DEFAULT_PRIORITY, Priority, Tags, check_length, check_tags

S = TypeVar("S", bound=str)
Status = Literal["inbox", "assigned", "in_progress", "review", "done", "blocked", "archived"]
BoardStatus = Literal["todo", "doing", "blocked", "done", "archived"]
PartyKind = Literal["user", "agent"]
CreatedBy = Literal["user", "agent", "classifier", "import", "webhook"]

# The state machine. A status without transitions is final; only reopening leads from `done` back to `review`.
MOVES: dict[str, tuple[Status, ...]] = {
    "inbox": ("assigned", "archived"),
    "assigned": ("in_progress", "blocked", "inbox", "archived"),
    "in_progress": ("review", "blocked", "archived"),
    "review": ("done", "in_progress", "blocked", "archived"),
    "done": ("archived",),
    "blocked": ("assigned", "in_progress", "archived"),
    "archived": (),
}
STATUSES = tuple(MOVES)
# A task begins in one of these.
FIRST_STATUSES = ("inbox", "assigned", "in_progress", "blocked")
AGENT_STATUSES = ("in_progress", "review", "done", "blocked")
# Moving into one of these closes the task's sessions, with this reason.
CLOSING: dict[str, Literal["task_done", "task_archived"]] = {"done": "task_done", "archived": "task_archived"}
NEEDS_ASSIGNEE = ("assigned", "in_progress")
_BOARD: dict[str, BoardStatus] = {
    "inbox": "todo", "assigned": "todo", "in_progress": "doing", "review": "doing", "blocked": "blocked",
    "done": "done", "archived": "archived",
}  # fmt: skip
# What `open` means as a filter.
OPEN: tuple[Status, ...] = ("inbox", "assigned", "in_progress", "review", "blocked")
CHAT_TAG: Final = "system:orchestrator-chat"
# The name of the orchestrator chat where a task's id is expected.
CHAT_NAME: Final = "orchestrator-chat"
REASON_NOT_GIVEN = "not given"


class TaskFields(Shape, Generic[When], frozen=True, kw_only=True):
    """What is said of a task everywhere."""

    id: str
    space_id: str
    topic_id: str | None
    goal_id: str | None
    plan_id: str | None
    parent_id: str | None
    task_index: int | None
    title: str
    description: str
    status: Status
    blocked_reason: str | None
    priority: int
    tags: tuple[str, ...]
    due_date: When | None
    snoozed_until: When | None
    pinned: bool
    color: str | None
    sort_index: float
    digest: str | None
    digest_updated_at: When | None
    metadata: dict[str, Any]
    created_by: CreatedBy
    created_at: When
    updated_at: When
    last_message_at: When | None
    archived_at: When | None


class Task(TaskFields[int], frozen=True, kw_only=True):
    """A task; its fields are the columns of its table. `is_chat` marks the account's orchestrator chat."""

    seq: int
    topic_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    parent_id: str | None = None
    task_index: int | None = None
    status_at: int
    blocked_reason: str | None = None
    due_date: int | None = None
    snoozed_until: int | None = None
    pinned: bool = False
    color: str | None = None
    sort_index: float = 0
    last_message_at: int | None = None
    archived_at: int | None = None
    reopened_seq: int = 0
    is_chat: bool = False
    digest: str | None = None
    digest_updated_at: int | None = None

    @property
    def board_status(self) -> BoardStatus:
        """The status on boards with three columns."""
        return _BOARD[self.status]


class Party(Struct, frozen=True, kw_only=True):
    """An agent, or a person by mailbox, who takes part in a task."""

    task_id: str
    kind: PartyKind
    party_id: str
    assigned_at: int | None = None
    subscribed: bool = False
    seen_seq: int = 0
    seen_at: int | None = None


class Searchable(Struct, frozen=True, kw_only=True):
    """The fields of a task that a search looks at."""

    id: str
    title: str
    description: str
    blocked_reason: str | None


# This room checks most of these and words the refusals; here they are only described.
Title = Annotated[str, checked(minLength=1, maxLength=limits.TASK_TITLE_CHARS_MAX)]
Description = Annotated[str, up_to(limits.TASK_DESCRIPTION_CHARS_MAX)]
BlockedReason = Annotated[str, up_to(limits.BLOCKED_REASON_CHARS_MAX)]
# In any spelling.
StatusWord = Annotated[str, checked(enum=[*MOVES, "todo", "doing"])]
Names = Annotated[tuple[ShortText, ...], Meta(max_length=limits.TASK_PARTIES_MAX)]
# Small enough that there are numbers left between any two of them.
Rank = Annotated[float, Meta(ge=-limits.TASK_RANK_MAX, le=limits.TASK_RANK_MAX)]
Dependencies = Annotated[tuple[ShortText, ...], at_most(limits.TASK_DEPENDENCIES_MAX)]


class NewTask(Input, frozen=True, kw_only=True):
    """A new task; only the title is required. Agents and people are named by id or slug."""

    title: Title
    id: NewId | None = None
    description: Description = ""
    # By default it follows from the assignees.
    status: StatusWord | None = None
    blocked_reason: BlockedReason | None = None
    priority: Priority = DEFAULT_PRIORITY
    tags: Tags | UnsetType = UNSET
    # Another name for tags.
    labels: Tags | UnsetType = UNSET
    topic_id: ShortText | None = None
    space_id: ShortText | None = None
    parent_id: ShortText | None = None
    dependencies: Dependencies = ()
    assigned_agent_ids: Names = ()
    assigned_user_ids: Names = ()
    due_date: Moment | None = None
    snoozed_until: Moment | None = None
    pinned: bool = False
    color: ShortText | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _take_labels(self)


class TaskChange(Input, frozen=True, kw_only=True):
    """Changes of a task; fields left out stay as they are. Lists replace what was there.

    `beforeId` and `afterId` put it next to another task of its column, also together with a new status. `position` is
    its rank there; `sortIndex` is another name for it.
    """

    title: Title | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    status: StatusWord | UnsetType = UNSET
    expected_status: StatusWord | None = None
    blocked_reason: BlockedReason | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    labels: Tags | UnsetType = UNSET
    topic_id: ShortText | UnsetType | None = UNSET
    space_id: ShortText | UnsetType = UNSET
    parent_id: ShortText | UnsetType | None = UNSET
    dependencies: Dependencies | UnsetType = UNSET
    assigned_agent_ids: Names | UnsetType = UNSET
    assigned_user_ids: Names | UnsetType = UNSET
    due_date: Moment | UnsetType | None = UNSET
    snoozed_until: Moment | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    color: ShortText | UnsetType | None = UNSET
    sort_index: Rank | UnsetType = UNSET
    position: Rank | UnsetType = UNSET
    before_id: ShortText | UnsetType = UNSET
    after_id: ShortText | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        _take_labels(self)
        if self.position is not UNSET:
            if self.sort_index not in (UNSET, self.position):
                raise invalid("position", "position is another name for sortIndex; send one of them.")
            structs.force_setattr(self, "sort_index", self.position)


def _take_labels(said: NewTask | TaskChange) -> None:
    """Take labels as tags, which they are another name for."""
    if said.labels is UNSET:
        return
    if said.tags is not UNSET:
        raise invalid("labels", "labels is another name for tags; send one of them.")
    structs.force_setattr(said, "tags", said.labels)
    structs.force_setattr(said, "labels", UNSET)


def path(before: str, after: str) -> tuple[Status, ...]:
    """Return the shortest legal path between two statuses, without the first; Refusal if there is none."""
    # No path leads through other statuses, and a task should not become unassigned on the way.
    way = shortest_path(MOVES, before, after, through=("assigned", "in_progress", "review"))
    if way is None:
        raise illegal(before, after)
    return way


def shortest_path(
    moves: Mapping[str, Iterable[S]], before: str, after: str, *, through: Container[str]
) -> tuple[S, ...] | None:  # fmt: skip
    """Return the shortest path of moves to a status, through these statuses only; None if there is none."""
    ways: deque[tuple[S, ...]] = deque([()])
    seen = {before}
    while ways:
        way = ways.popleft()
        for onward in moves[way[-1] if way else before]:
            if onward == after:
                return (*way, onward)
            if onward in through and onward not in seen:
                seen.add(onward)
                ways.append((*way, onward))
    return None


def illegal(before: str, after: str) -> Refusal:
    """Return the refusal of a move that is not in the table."""
    onward = " or ".join(MOVES[before]) or "nothing"
    message = f"A task that is {before} cannot become {after}; it can become {onward}."
    if before == "done":
        message += " Reopen it to move it back to review."
    return Refusal(Code.ILLEGAL_TRANSITION, message, field="status", details={"from": before, "to": after})


def read_status(spelling: str, *, has_assignee: bool, first: bool = False) -> Status:
    """Return the status for a spelling: our own words, and `todo`, `open` and `doing` of other boards."""
    word, to_do = plain_word(spelling), "assigned" if has_assignee else "inbox"
    meant = {"todo": to_do, "to_do": to_do, "open": to_do, "doing": "in_progress"}.get(word, word)
    if meant not in MOVES:
        raise Refusal.of_value("status", spelling, MOVES)
    if first and meant not in FIRST_STATUSES:
        raise invalid("status", f"A task cannot begin as {meant}; status must be one of {', '.join(FIRST_STATUSES)}.")
    return meant  # type: ignore[return-value]


def statuses_meant(spelling: str) -> tuple[Status, ...]:
    """Return the statuses for a filter: `todo` and `doing` are two, `open` all that are not over."""
    word = plain_word(spelling)
    if word == "open":
        return OPEN
    word = "todo" if word == "to_do" else word
    meant = tuple(status for status in MOVES if word in (status, _BOARD[status]))
    return meant or (read_status(spelling, has_assignee=False),)  # type: ignore[return-value]


def check_texts(
    title: str | UnsetType, description: str | UnsetType, blocked_reason: str | UnsetType | None,
    tags: tuple[str, ...] | UnsetType,
) -> None:  # fmt: skip
    """Refuse texts that are missing or too long; unset ones are not checked."""
    if isinstance(title, str) and not title.strip():
        raise invalid("title", "A task needs a title.")
    check_length("title", title, limits.TASK_TITLE_CHARS_MAX)
    check_length("description", description, limits.TASK_DESCRIPTION_CHARS_MAX)
    check_length("blockedReason", blocked_reason, limits.BLOCKED_REASON_CHARS_MAX)
    if not isinstance(tags, UnsetType):
        check_tags(tags, "task")
        if CHAT_TAG in tags:
            raise invalid("tags", f"{CHAT_TAG} is reserved; choose another tag.")


def check_metadata(metadata: dict[str, Any]) -> None:
    """Refuse metadata that is too large."""
    if len(msgspec.json.encode(metadata)) > limits.TASK_METADATA_BYTES_MAX:
        message = f"metadata has at most {limits.TASK_METADATA_BYTES_MAX} bytes as JSON."
        raise Refusal(Code.TOO_LONG, message, field="metadata")


class TaskCriteria(Input, frozen=True, kw_only=True):
    """Which tasks to list; None matches everything. The orchestrator chat is never listed."""

    status: StatusWord | None = None
    topic_id: Name | None = None
    goal_id: Name | None = None
    plan_id: Name | None = None
    assignee_id: Name | None = None
    tag: Name | None = None
    pinned: bool | None = None
    include_archived: bool = False
    # A task: what it is part of, its sub-tasks, what it waits for and what waits for it.
    related_to: Name | None = None


class TaskFilter(TaskCriteria, frozen=True, kw_only=True):
    """Which tasks to list, and in which spaces."""

    # Narrows the readable tasks to those visible in these spaces.
    spaces: tuple[str, ...] | None = None
