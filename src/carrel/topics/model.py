"""Topics as values: the board groups tasks and entries under them."""

from collections.abc import Sequence
from typing import Annotated, Generic, Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel import Access, Code, Input, Refusal, Shape, When, invalid, limits
from carrel.kernel.fields import SOME_TEXT, Moment, Name, NewId, ShortText, at_most, checked, up_to

TopicStatus = Literal["active", "snoozed", "archived"]
CreatedBy = Literal["user", "agent", "classifier", "import"]
PRIORITIES = ("critical", "high", "medium", "low", "lowest")
DEFAULT_PRIORITY = 3
# This room checks these and words the refusals; here they are only described.
TopicName = Annotated[str, checked(pattern=SOME_TEXT, maxLength=limits.TOPIC_NAME_CHARS_MAX)]
Tags = Annotated[tuple[Annotated[str, up_to(limits.TASK_TAG_CHARS_MAX)], ...], at_most(limits.TASK_TAGS_MAX)]
Priority = Annotated[int, checked(minimum=1, maximum=len(PRIORITIES))] | Annotated[str, checked(enum=list(PRIORITIES))]


class Merged(Shape, frozen=True, kw_only=True):
    """A topic that was merged into another: its name at that time, the moment, and its entries."""

    id: str
    name: str
    at: str
    entry_ids: tuple[str, ...]


class _TopicFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    space_id: str
    name: str
    description: str
    status: TopicStatus
    snoozed_until: When | None
    priority: int
    tags: tuple[str, ...]
    parent_id: str | None
    pinned: bool
    color: str | None
    sort_index: float
    digest: str | None
    digest_updated_at: When | None
    merged_from: tuple[Merged, ...]
    created_by: CreatedBy
    created_at: When
    updated_at: When


class Topic(_TopicFields[int], frozen=True, kw_only=True):
    """A topic; its fields are the columns of its table."""

    # Somebody named it, moved it or sorted something into it: the classifier neither renames nor merges it.
    curated: bool = False
    # The number of its newest change.
    seq: int = 0


class TopicChange(Input, frozen=True, kw_only=True):
    """Changes of a topic; fields left out stay as they are. Tags replace what was there."""

    name: TopicName | UnsetType = UNSET
    description: Annotated[str, up_to(limits.TOPIC_DESCRIPTION_CHARS_MAX)] | UnsetType = UNSET
    status: TopicStatus | UnsetType = UNSET
    snoozed_until: Moment | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    space_id: Name | UnsetType = UNSET
    parent_id: ShortText | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    color: ShortText | UnsetType | None = UNSET
    sort_index: float | UnsetType = UNSET


class NewTopic(TopicChange, frozen=True, kw_only=True):
    """A topic to be made or, where its id is known, changed; only the name is required."""

    name: TopicName
    id: NewId | None = None
    created_by: CreatedBy = "user"


class TopicFilter(Struct, frozen=True, kw_only=True):
    """Which topics to list; None matches everything. `spaces` narrows what the caller may see."""

    status: TopicStatus | None = None
    tag: str | None = None
    pinned: bool | None = None
    spaces: tuple[str, ...] | None = None


class TopicShape(_TopicFields[str], frozen=True, kw_only=True):
    """A topic as surfaces show it."""


class TopicMoved(Struct, frozen=True):
    """A topic moved to another space, or (`space_id` None) is about to be removed: its tasks follow."""

    access: Access
    topic_id: str
    space_id: str | None


def read_priority(given: int | str) -> int:
    """Return the priority, 1 (highest) to 5, of a number or a word."""
    if isinstance(given, str) and given.lower() in PRIORITIES:
        return PRIORITIES.index(given.lower()) + 1
    if isinstance(given, int) and 1 <= given <= len(PRIORITIES):
        return given
    allowed = [*map(str, range(1, len(PRIORITIES) + 1)), *PRIORITIES]
    raise Refusal.of_value("priority", str(given), allowed)


def check_length(field: str, text: object, chars_max: int) -> None:
    """Refuse a text that is too long; anything but a text is not checked."""
    if isinstance(text, str) and len(text) > chars_max:
        raise Refusal(Code.TOO_LONG, f"{field} has at most {chars_max} characters.", field=field)


def check_tags(tags: Sequence[str], what: str) -> None:
    """Refuse too many tags, and tags that are too long."""
    if len(tags) > limits.TASK_TAGS_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A {what} has at most {limits.TASK_TAGS_MAX} tags.", field="tags")
    if any(len(tag) > limits.TASK_TAG_CHARS_MAX for tag in tags):
        raise Refusal(Code.TOO_LONG, f"A tag has at most {limits.TASK_TAG_CHARS_MAX} characters.", field="tags")


def check_change(change: TopicChange) -> None:
    """Refuse texts and tags that are missing or too long; unset ones are not checked."""
    if isinstance(change.name, str) and not change.name.strip():
        raise invalid("name", "A topic needs a name.")
    check_length("name", change.name, limits.TOPIC_NAME_CHARS_MAX)
    check_length("description", change.description, limits.TOPIC_DESCRIPTION_CHARS_MAX)
    check_length("color", change.color, limits.NAME_CHARS_MAX)
    if change.tags is not UNSET:
        check_tags(change.tags, "topic")
