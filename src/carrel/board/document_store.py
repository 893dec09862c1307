"""The SQL of what can be found: topics and tasks with the spaces in which they are visible."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Row, Tx

# Rows that are read by their ids at a time.
_AT_A_TIME = 200
_TABLES = {"topic": "topics", "task": "tasks", "entry": "entries"}


class FindableTopic(Struct, frozen=True):
    """What a topic is found by, and where: its own space, and those that its tags name."""

    id: str
    name: str
    description: str
    created_at: int
    spaces: tuple[str, ...]


class FindableTask(Struct, frozen=True):
    """What a task is found by, and where; `is_chat` marks the orchestrator chat, which is not on the board."""

    id: str
    title: str
    description: str
    created_at: int
    space_id: str
    topic_id: str | None
    is_chat: bool


def findable_topics(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FindableTopic]:
    """Return those of the topics that exist."""
    names = list(ids)
    spaces: dict[str, list[str]] = {}
    for topic_id, space_id in _named(tx, access, "SELECT topic_id, space_id FROM topic_spaces", "topic_id", names):
        spaces.setdefault(topic_id, []).append(space_id)
    rows = _named(tx, access, "SELECT id, name, description, created_at, space_id FROM topics", "id", names)
    seen = {row[0]: tuple(dict.fromkeys((row[4], *sorted(spaces.get(row[0], ()))))) for row in rows}
    return {name: FindableTopic(name, label, text, at, seen[name]) for name, label, text, at, _ in rows}


def findable_tasks(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, FindableTask]:
    """Return those of the tasks that exist."""
    sql = "SELECT id, title, description, created_at, space_id, topic_id, is_chat FROM tasks"
    rows = _named(tx, access, sql, "id", list(ids))
    return {row[0]: FindableTask(*row) for row in rows}


def _named(tx: Tx, access: Access, select: str, column: str, ids: list[str]) -> list[Row]:
    found: list[Row] = []
    for first in range(0, len(ids), _AT_A_TIME):
        values: dict[str, object] = {f"id_{at}": each for at, each in enumerate(ids[first : first + _AT_A_TIME])}
        listed = ", ".join(f":{name}" for name in values)
        found += tx.all(f"{select} WHERE account_id = :account AND {column} IN ({listed})", access, **values)
    return found


def ids_after(tx: Tx, access: Access, kind: str, after: str, *, limit: int) -> list[str]:
    """Return the next ids of topics, tasks or entries, in order."""
    sql = f"SELECT id FROM {_TABLES[kind]} WHERE account_id = :account AND id > :after ORDER BY id LIMIT :limit"
    return [row[0] for row in tx.all(sql, access, after=after, limit=limit)]
