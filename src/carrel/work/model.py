"""A task, its statuses and transitions, and its parties. Pure.

Never merge `Task.status`, which people and agents move, with the state of a run, which the engine moves.
"""

from collections import deque
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel import Code, Refusal, invalid, plain_word
from carrel.kernel.limits import BLOCKED_REASON_CHARS_MAX, TASK_DESCRIPTION_CHARS_MAX, TASK_TITLE_CHARS_MAX
from carrel.topics import DEFAULT_PRIORITY, PRIORITIES, check_tags

Status = Literal["inbox", "assigned", "in_progress", "review", "done", "blocked", "archived"]
BoardStatus = Literal["todo", "doing", "blocked", "done", "archived"]
PartyKind = Literal["user", "agent"]
NoticeType = Literal["mention", "assignment", "thread_update", "status_change", "response_request", "stalled"]
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
# A task begins in one of these.
FIRST_STATUSES = ("inbox", "assigned", "in_progress", "blocked")
AGENT_STATUSES = ("in_progress", "review", "done", "blocked")
# Moving into one of these closes the task's sessions, with this reason.
CLOSING: dict[str, Literal["task_done", "task_archived"]] = {"done": "task_done", "archived": "task_archived"}
NEEDS_ASSIGNEE = ("assigned", "in_progress")
_BOARD: dict[str, BoardStatus] = {
    "inbox": "todo",
    "assigned": "todo",
    "in_progress": "doing",
    "review": "doing",
    "blocked": "blocked",
    "done": "done",
    "archived": "archived",
}
# What `open` means as a filter.
_OPEN: tuple[Status, ...] = ("inbox", "assigned", "in_progress", "review", "blocked")
CHAT_TAG: Final = "system:orchestrator-chat"
# The name of the orchestrator chat where a task's id is expected.
CHAT_NAME: Final = "orchestrator-chat"
REASON_NOT_GIVEN = "not given"


class Words:
    """The accepted words, for descriptions of the interfaces."""

    STATUSES = (*MOVES, "todo", "doing")
    # Without the aliases that other boards use.
    TASK_STATUSES = tuple(MOVES)
    FIRST_STATUSES = FIRST_STATUSES
    AGENT_STATUSES = AGENT_STATUSES
    PRIORITIES = PRIORITIES


class Task(Struct, frozen=True, kw_only=True):
    """A task; its fields are the columns of its table. `is_chat` marks the account's orchestrator chat."""

    id: str
    seq: int
    space_id: str
    title: str
    description: str
    status: Status
    priority: int
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    created_by: CreatedBy
    created_at: int
    updated_at: int
    status_at: int
    topic_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    parent_id: str | None = None
    task_index: int | None = None
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


class NewTask(Struct, frozen=True, kw_only=True):
    """A task to create. `status` may be any spelling; by default it follows from the assignees."""

    title: str
    id: str | None = None
    description: str = ""
    status: str | None = None
    blocked_reason: str | None = None
    priority: int | str = DEFAULT_PRIORITY
    tags: tuple[str, ...] = ()
    topic_id: str | None = None
    space_id: str | None = None
    parent_id: str | None = None
    dependencies: tuple[str, ...] = ()
    assigned_agent_ids: tuple[str, ...] = ()
    assigned_user_ids: tuple[str, ...] = ()
    due_date: int | None = None
    snoozed_until: int | None = None
    pinned: bool = False
    color: str | None = None
    metadata: dict[str, Any] = {}
    # Who created it, if neither the person nor the agent who asks.
    created_by: CreatedBy | None = None


class TaskChange(Struct, frozen=True, kw_only=True):
    """Changes to a task; unset fields stay as they are. Lists replace the earlier ones."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    blocked_reason: str | UnsetType | None = UNSET
    priority: int | str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    topic_id: str | UnsetType | None = UNSET
    space_id: str | UnsetType = UNSET
    parent_id: str | UnsetType | None = UNSET
    dependencies: tuple[str, ...] | UnsetType = UNSET
    assigned_agent_ids: tuple[str, ...] | UnsetType = UNSET
    assigned_user_ids: tuple[str, ...] | UnsetType = UNSET
    due_date: int | UnsetType | None = UNSET
    snoozed_until: int | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    color: str | UnsetType | None = UNSET
    sort_index: float | UnsetType = UNSET
    # The task before or after which it is put in its column.
    before_id: str | UnsetType = UNSET
    after_id: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


def path(before: str, after: str) -> tuple[Status, ...]:
    """Return the shortest legal path between two statuses, without the first; Refusal if there is none."""
    ways: deque[tuple[Status, ...]] = deque([()])
    seen = {before}
    while ways:
        way = ways.popleft()
        for onward in MOVES[way[-1] if way else before]:
            if onward == after:
                return (*way, onward)
            # No path leads through these, and a task should not become unassigned on the way.
            if onward not in seen and onward not in ("inbox", "blocked", "done", "archived"):
                seen.add(onward)
                ways.append((*way, onward))
    raise illegal(before, after)


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
        return _OPEN
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
    limited = (
        ("title", title, TASK_TITLE_CHARS_MAX),
        ("description", description, TASK_DESCRIPTION_CHARS_MAX),
        ("blockedReason", blocked_reason, BLOCKED_REASON_CHARS_MAX),
    )
    for field, text, chars_max in limited:
        if isinstance(text, str) and len(text) > chars_max:
            raise Refusal(Code.TOO_LONG, f"{field} has at most {chars_max} characters.", field=field)
    if not isinstance(tags, UnsetType):
        check_tags(tags, "task")
        if CHAT_TAG in tags:
            raise invalid("tags", f"{CHAT_TAG} is reserved; choose another tag.")


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list; None matches everything. The orchestrator chat is never listed.

    `status` may be any spelling.
    """

    status: str | None = None
    topic_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    assignee_id: str | None = None
    tag: str | None = None
    pinned: bool | None = None
    include_archived: bool = False
    # A task: what it is part of, its sub-tasks, what it waits for and what waits for it.
    related_to: str | None = None
    # Narrows the readable tasks to those visible in these spaces.
    spaces: tuple[str, ...] | None = None
