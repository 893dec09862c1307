"""Topics as values: the board groups tasks and entries under them."""

from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel import Access, Code, Refusal, Shape, invalid
from carrel.kernel.limits import (
    NAME_CHARS_MAX,
    TASK_TAG_CHARS_MAX,
    TASK_TAGS_MAX,
    TOPIC_DESCRIPTION_CHARS_MAX,
    TOPIC_NAME_CHARS_MAX,
)

TopicStatus = Literal["active", "snoozed", "archived"]
CreatedBy = Literal["user", "agent", "classifier", "import"]
PRIORITIES = ("critical", "high", "medium", "low", "lowest")
DEFAULT_PRIORITY = 3


class Merged(Shape, frozen=True, kw_only=True):
    """A topic that was merged into another: its name at that time, the moment, and its entries."""

    id: str
    name: str
    at: str
    entry_ids: tuple[str, ...]


class Topic(Struct, frozen=True, kw_only=True):
    """A topic; its fields are the columns of its table."""

    id: str
    space_id: str
    name: str
    created_by: CreatedBy
    created_at: int
    updated_at: int
    description: str = ""
    status: TopicStatus = "active"
    snoozed_until: int | None = None
    priority: int = DEFAULT_PRIORITY
    tags: tuple[str, ...] = ()
    parent_id: str | None = None
    pinned: bool = False
    color: str | None = None
    sort_index: float = 0
    digest: str | None = None
    digest_updated_at: int | None = None
    # Somebody named it, moved it or sorted something into it: the classifier neither renames nor merges it.
    curated: bool = False
    merged_from: tuple[Merged, ...] = ()
    # The number of its newest change.
    seq: int = 0


class TopicChange(Struct, frozen=True, kw_only=True):
    """Changes to a topic; unset fields stay as they are. Tags replace the earlier ones."""

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: TopicStatus | UnsetType = UNSET
    snoozed_until: int | UnsetType | None = UNSET
    priority: int | str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    space_id: str | UnsetType = UNSET
    parent_id: str | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    color: str | UnsetType | None = UNSET
    sort_index: float | UnsetType = UNSET


class NewTopic(TopicChange, frozen=True, kw_only=True):
    """A topic to be created or, if its id is known, changed."""

    name: str
    id: str | None = None
    created_by: CreatedBy = "user"


class TopicFilter(Struct, frozen=True, kw_only=True):
    """Which topics to list; None matches everything. `spaces` narrows what the caller may see."""

    status: TopicStatus | None = None
    tag: str | None = None
    pinned: bool | None = None
    spaces: tuple[str, ...] | None = None


class TopicShape(Shape, frozen=True, kw_only=True):
    """A topic as surfaces show it."""

    id: str
    space_id: str
    name: str
    description: str
    status: TopicStatus
    snoozed_until: str | None
    priority: int
    tags: tuple[str, ...]
    parent_id: str | None
    pinned: bool
    color: str | None
    sort_index: float
    digest: str | None
    digest_updated_at: str | None
    merged_from: tuple[Merged, ...]
    created_by: CreatedBy
    created_at: str
    updated_at: str


class TopicMoved(Struct, frozen=True):
    """A topic moved to another space, or (`space_id` None) is about to be removed: its tasks follow."""

    access: Access
    topic_id: str
    space_id: str | None


def topic_shape(topic: Topic) -> TopicShape:
    """Return a topic as surfaces show it."""
    return TopicShape.of(topic)


def read_priority(given: int | str) -> int:
    """Return the priority, 1 (highest) to 5, of a number or a word."""
    if isinstance(given, str) and given.lower() in PRIORITIES:
        return PRIORITIES.index(given.lower()) + 1
    if isinstance(given, int) and 1 <= given <= len(PRIORITIES):
        return given
    allowed = [*map(str, range(1, len(PRIORITIES) + 1)), *PRIORITIES]
    raise Refusal.of_value("priority", str(given), allowed)


def check_tags(tags: Iterable[str], what: str) -> None:
    """Refuse too many tags, and tags that are too long or empty."""
    given = list(tags)
    if len(given) > TASK_TAGS_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A {what} has at most {TASK_TAGS_MAX} tags.", field="tags")
    if any(len(tag) > TASK_TAG_CHARS_MAX for tag in given):
        raise Refusal(Code.TOO_LONG, f"A tag has at most {TASK_TAG_CHARS_MAX} characters.", field="tags")


def check_change(change: TopicChange) -> None:
    """Refuse texts and tags that are missing or too long; unset ones are not checked."""
    if isinstance(change.name, str) and not change.name.strip():
        raise invalid("name", "A topic needs a name.")
    limited = (
        ("name", change.name, TOPIC_NAME_CHARS_MAX),
        ("description", change.description, TOPIC_DESCRIPTION_CHARS_MAX),
        ("color", change.color, NAME_CHARS_MAX),
    )
    for field, text, chars_max in limited:
        if isinstance(text, str) and len(text) > chars_max:
            raise Refusal(Code.TOO_LONG, f"{field} has at most {chars_max} characters.", field=field)
    if change.tags is not UNSET:
        check_tags(change.tags, "topic")
