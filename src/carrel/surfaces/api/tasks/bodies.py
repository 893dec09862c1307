"""Request bodies about tasks, converted to what the room of tasks takes."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from carrel.kernel import invalid
from carrel.kernel.limits import (
    ATTACHMENTS_MAX,
    BLOCKED_REASON_CHARS_MAX,
    MESSAGE_CHARS_MAX,
    TASK_DEPENDENCIES_MAX,
    TASK_DESCRIPTION_CHARS_MAX,
    TASK_LIST_ROWS_MAX,
    TASK_PARTIES_MAX,
    TASK_RANK_MAX,
    TASK_TAG_CHARS_MAX,
    TASK_TAGS_MAX,
    TASK_TITLE_CHARS_MAX,
)
from carrel.surfaces.api.endpoint import In
from carrel.surfaces.api.fields import Moment, NewId, ShortText, values_of
from carrel.work import NewTask, TaskChange, Words


def up_to(chars_max: int) -> Meta:
    """Describe the limit of a text that the room below checks."""
    return Meta(extra_json_schema={"maxLength": chars_max})


def at_most(items_max: int) -> Meta:
    """Describe the limit of a list that the room below checks."""
    return Meta(extra_json_schema={"maxItems": items_max})


# The room below checks these and words the refusals; here they are only described.
Title = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": TASK_TITLE_CHARS_MAX})]
Description = Annotated[str, up_to(TASK_DESCRIPTION_CHARS_MAX)]
Reason = Annotated[str, up_to(BLOCKED_REASON_CHARS_MAX)]
Content = Annotated[str, up_to(MESSAGE_CHARS_MAX)]
StatusWord = Annotated[str, Meta(extra_json_schema={"enum": list(Words.STATUSES)})]
Priority = (
    Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": len(Words.PRIORITIES)})]
    | Annotated[str, Meta(extra_json_schema={"enum": list(Words.PRIORITIES)})]
)
Tags = Annotated[tuple[Annotated[str, up_to(TASK_TAG_CHARS_MAX)], ...], at_most(TASK_TAGS_MAX)]
Names = Annotated[tuple[ShortText, ...], Meta(max_length=TASK_PARTIES_MAX)]
# Small enough that there are numbers left between any two of them.
Rank = Annotated[float, Meta(ge=-TASK_RANK_MAX, le=TASK_RANK_MAX)]
Dependencies = Annotated[tuple[ShortText, ...], at_most(TASK_DEPENDENCIES_MAX)]


class TaskBody(In, frozen=True, kw_only=True):
    """A new task; only the title is required. Agents and people are named by id or slug."""

    title: Title
    id: NewId | None = None
    description: Description = ""
    status: StatusWord | None = None
    blocked_reason: Reason | None = None
    priority: Priority = 3
    tags: Tags | UnsetType = UNSET
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


class TaskPatch(In, frozen=True, kw_only=True):
    """Changes of a task; fields left out stay as they are. Lists replace what was there.

    `beforeId` and `afterId` put it next to another task of its column, also together with a new status. `position` is
    its rank there; `sortIndex` is another name for it.
    """

    title: Title | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    status: StatusWord | UnsetType = UNSET
    expected_status: StatusWord | None = None
    blocked_reason: Reason | UnsetType | None = UNSET
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


class StatusBody(In, frozen=True, kw_only=True):
    """A status to move to: one step of the table, or `done` and others by their own rules."""

    status: StatusWord
    blocked_reason: Reason | None = None
    expected_status: StatusWord | None = None


class AssignBody(In, frozen=True, kw_only=True):
    """Who is assigned, or with `remove` taken off; by id or slug."""

    agent_ids: Names = ()
    user_ids: Names = ()
    remove: bool = False


class MessageBody(In, frozen=True, kw_only=True):
    """A message to a task's thread."""

    content: Content
    attachment_ids: Annotated[tuple[ShortText, ...], at_most(ATTACHMENTS_MAX)] = ()


class OrderBody(In, frozen=True, kw_only=True):
    """Tasks in their new order, optionally all of one topic or status."""

    ordered_ids: Annotated[tuple[ShortText, ...], Meta(max_length=TASK_LIST_ROWS_MAX)]
    topic_id: ShortText | None = None
    status: StatusWord | None = None


class SeenBody(In, frozen=True, kw_only=True):
    """The number of the newest message that was read."""

    seq: Annotated[int, Meta(ge=0, lt=1 << 62)]


def new_task(body: TaskBody) -> NewTask:
    """Return the task that a body asks for."""
    return NewTask(**_read(body))


def task_change(body: TaskPatch) -> TaskChange:
    """Return the change that a body asks for."""
    fields = _read(body)
    fields.pop("expected_status")
    position = fields.pop("position")
    if position is not UNSET:
        if fields["sort_index"] not in (UNSET, position):
            raise invalid("position", "position is another name for sortIndex; send one of them.")
        fields["sort_index"] = position
    return TaskChange(**fields)


def _read(body: TaskBody | TaskPatch) -> dict[str, Any]:
    """Return the fields of a body under the names and in the values of the room below."""
    fields = values_of(body)
    labels, tags = fields.pop("labels"), fields.pop("tags")
    if labels is not UNSET and tags is not UNSET:
        raise invalid("labels", "labels is another name for tags; send one of them.")
    if (labels, tags) != (UNSET, UNSET):
        fields["tags"] = labels if tags is UNSET else tags
    return fields
