"""The SQL of documents for search: topics and tasks with the spaces in which they are visible."""

from collections.abc import Iterable
from typing import Generic

from msgspec import Struct, structs

from carrel.kernel import Access, Shape, When
from carrel.storage import Row, Tx

# Rows that are read by id at a time.
_AT_A_TIME = 200
_TABLES = {"topic": "topics", "task": "tasks", "entry": "entries"}


class FoundPlace(Shape, Generic[When], frozen=True):
    """What is searched and shown of topics and tasks alike."""

    id: str
    space_id: str
    description: str
    status: str
    pinned: bool
    digest: str | None
    created_at: When
    updated_at: When


class FoundTopic(FoundPlace[int], frozen=True):
    """What is searched and shown of a topic. It is visible in `spaces`: its own, and those of its tags."""

    name: str
    spaces: tuple[str, ...] = ()


class FoundTask(FoundPlace[int], frozen=True):
    """What is searched and shown of a task; `is_chat` marks the orchestrator chat, which is not on the board."""

    topic_id: str | None
    title: str
    priority: int
    reopened_seq: int
    is_chat: bool


def _select(shape: type[Struct], table: str) -> str:
    columns = (name for name in shape.__struct_fields__ if name != "spaces")
    return f"SELECT {', '.join(columns)} FROM {table}"


_SELECT_TOPIC, _SELECT_TASK = _select(FoundTopic, "topics"), _select(FoundTask, "tasks")


def found_topics(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FoundTopic]:
    """Return the existing ones of these topics."""
    names = list(ids)
    spaces: dict[str, list[str]] = {}
    for topic_id, space_id in _named(tx, access, "SELECT topic_id, space_id FROM topic_spaces", "topic_id", names):
        spaces.setdefault(topic_id, []).append(space_id)
    topics = [FoundTopic(*row) for row in _named(tx, access, _SELECT_TOPIC, "id", names)]
    seen = {one.id: tuple(dict.fromkeys((one.space_id, *sorted(spaces.get(one.id, ()))))) for one in topics}
    return {one.id: structs.replace(one, spaces=seen[one.id], pinned=bool(one.pinned)) for one in topics}


def found_tasks(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FoundTask]:
    """Return the existing ones of these tasks."""
    tasks = [FoundTask(*row) for row in _named(tx, access, _SELECT_TASK, "id", list(ids))]
    return {one.id: structs.replace(one, pinned=bool(one.pinned), is_chat=bool(one.is_chat)) for one in tasks}


def _named(tx: Tx, access: Access, select: str, column: str, ids: list[str]) -> list[Row]:
    found: list[Row] = []
    for first in range(0, len(ids), _AT_A_TIME):
        values: dict[str, object] = {f"id_{at}": each for at, each in enumerate(ids[first : first + _AT_A_TIME])}
        listed = ", ".join(f":{name}" for name in values)
        found += tx.all(f"{select} WHERE account_id = :account AND {column} IN ({listed})", access, **values)
    return found


def ids_after(tx: Tx, access: Access, kind: str, after: str, *, limit: int) -> list[str]:
    """Return the next ids of a kind, topics, tasks or entries, in order."""
    sql = f"SELECT id FROM {_TABLES[kind]} WHERE account_id = :account AND id > :after ORDER BY id LIMIT :limit"
    return [row[0] for row in tx.all(sql, access, after=after, limit=limit)]


def ids_in_session(tx: Tx, access: Access, session_key: str, *, tool_calls: bool, limit: int) -> list[str]:
    """Return unordered ids of a session's findable entries: all of them, or at least `limit`.

    An entry that is in the session in two ways appears twice.
    """
    spoken = "" if tool_calls else "AND (role IS NULL OR role NOT IN ('toolCall', 'toolResult')) "
    # Two statements in one, each with its own index: a condition on either column would read all entries of the
    # account.
    sql = " UNION ALL ".join(
        f"SELECT id FROM (SELECT id FROM entries WHERE account_id = :account AND {column} = :session_key {spoken}"
        f"LIMIT :limit) AS by_{column}"
        for column in ("key", "bucket")
    )
    return [row[0] for row in tx.all(sql, access, session_key=session_key, limit=limit)]
