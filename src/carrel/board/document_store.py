"""The SQL of documents for search: topics and tasks with the spaces in which they are visible."""

from collections.abc import Iterable
from typing import Generic

from msgspec import Struct, structs

from carrel.kernel import Access, Shape, When
from carrel.storage import FLAG, Table, Tx

_TABLES = {"topic": "topics", "task": "tasks", "entry": "entries"}


class FoundItem(Shape, Generic[When], frozen=True):
    """What is searched and shown of topics and tasks alike."""

    id: str
    space_id: str
    description: str
    status: str
    pinned: bool
    digest: str | None
    created_at: When
    updated_at: When


class FoundTopic(FoundItem[int], frozen=True):
    """What is searched and shown of a topic. It is visible in `spaces`: its own, and those of its tags."""

    name: str
    spaces: tuple[str, ...] = ()


class FoundTask(FoundItem[int], frozen=True):
    """What is searched and shown of a task; `is_chat` marks the orchestrator chat, which is not on the board."""

    topic_id: str | None
    title: str
    priority: int
    reopened_seq: int
    is_chat: bool


class _TopicSpace(Struct, frozen=True):
    topic_id: str
    space_id: str


_TOPICS = Table("topics", FoundTopic, without=("spaces",), codecs={"pinned": FLAG})
_TASKS = Table("tasks", FoundTask, codecs={"pinned": FLAG, "is_chat": FLAG})
_TOPIC_SPACES = Table("topic_spaces", _TopicSpace)


def found_topics(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FoundTopic]:
    topics = {one.id: one for one in _TOPICS.among(tx, access, "id", ids)}
    spaces = {one.id: {one.space_id: None} for one in topics.values()}
    for space in sorted(_TOPIC_SPACES.among(tx, access, "topic_id", topics), key=lambda space: space.space_id):
        spaces[space.topic_id][space.space_id] = None
    return {name: structs.replace(one, spaces=tuple(spaces[name])) for name, one in topics.items()}


def found_tasks(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FoundTask]:
    return {one.id: one for one in _TASKS.among(tx, access, "id", ids)}


def ids_after(tx: Tx, access: Access, kind: str, after: str, *, limit: int) -> list[str]:
    """Return the next ids of a kind, topics, tasks or entries, in order."""
    sql = f"SELECT id FROM {_TABLES[kind]} WHERE account_id = :account AND id > :after ORDER BY id LIMIT :limit"
    return [row[0] for row in tx.all(sql, access, after=after, limit=limit)]


def ids_in_session(tx: Tx, access: Access, session_key: str, *, tool_calls: bool, limit: int) -> list[str]:
    """Return unordered ids of a session's findable entries, all or at least `limit`; some may appear twice."""
    spoken = "" if tool_calls else "AND (role IS NULL OR role NOT IN ('toolCall', 'toolResult')) "
    # Two statements in one, each with its own index: a condition on either column would read all entries of the
    # account.
    sql = " UNION ALL ".join(
        f"SELECT id FROM (SELECT id FROM entries WHERE account_id = :account AND {column} = :session_key {spoken}"
        f"LIMIT :limit) AS by_{column}"
        for column in ("key", "bucket")
    )
    return [row[0] for row in tx.all(sql, access, session_key=session_key, limit=limit)]
