"""The SQL of topics and the spaces they are visible in."""

from collections.abc import Iterable

from msgspec import structs

from carrel.journal import json_text
from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx, json_column
from carrel.topics.model import Merged, Topic, TopicFilter
from carrel.visibility import seen_topics

_TOPICS = Table("topics", Topic, codecs={
    "tags": json_column(tuple[str, ...]), "pinned": FLAG, "curated": FLAG,
    "merged_from": json_column(tuple[Merged, ...]),
})  # fmt: skip
_SELECT = f"SELECT {_TOPICS.columns} FROM topics WHERE account_id = :account"


def topic_by_id(tx: Tx, access: Access, topic_id: str) -> Topic | None:
    """Return one topic that the caller may see."""
    seen, values = seen_topics(tx, access)
    return _TOPICS.row(tx.one(f"{_SELECT} AND id = :id AND {seen}", access, id=topic_id, **values))


def hold_topic(tx: Tx, access: Access, topic_id: str) -> Topic | None:
    """Return one topic that the caller may see, locked until the end of the transaction. Lock topics before tasks."""
    seen, values = seen_topics(tx, access)
    sql = f"{_SELECT} AND id = :id AND {seen} FOR NO KEY UPDATE"
    return _TOPICS.row(tx.one(sql, access, id=topic_id, **values))


def topics_by_id(tx: Tx, access: Access, topic_ids: Iterable[str]) -> list[Topic]:
    """Return the visible ones of these topics."""
    names: dict[str, object] = {f"id_{at}": topic_id for at, topic_id in enumerate(dict.fromkeys(topic_ids))}
    if not names:
        return []
    seen, values = seen_topics(tx, access)
    named = ", ".join(f":{name}" for name in names)
    return _TOPICS.rows(tx.all(f"{_SELECT} AND id IN ({named}) AND {seen}", access, **names, **values))


def list_topics(
    tx: Tx, access: Access, wanted: TopicFilter, *, after: tuple[float, str] | None = None, limit: int
) -> list[Topic]:  # fmt: skip
    """Return the topics that the caller may see in board order, after the (sort index, id) of another."""
    seen, values = seen_topics(tx, access, wanted.spaces)
    rules = [seen]
    if after is not None:
        rules.append("(sort_index > :after OR (sort_index = :after AND id > :after_id))")
        values |= {"after": after[0], "after_id": after[1]}
    if wanted.status is not None:
        rules.append("status = :status")
        values["status"] = wanted.status
    if wanted.tag is not None:
        # Tags are a JSON list of strings, so a tag is matched with its quotes.
        rules.append("replace(tags, :tag, '') <> tags")
        values["tag"] = json_text(wanted.tag)
    if wanted.pinned is not None:
        rules.append("pinned = :pinned")
        values["pinned"] = int(wanted.pinned)
    sql = f"{_SELECT} AND {' AND '.join(rules)} ORDER BY sort_index, id LIMIT :limit"
    return _TOPICS.rows(tx.all(sql, access, limit=limit, **values))


def topics_of_space(tx: Tx, access: Access, space_id: str) -> list[Topic]:
    """Return the topics that are visible in a space, in a stable order."""
    sql = (
        f"{_SELECT} AND id IN (SELECT topic_id FROM topic_spaces WHERE account_id = :account AND space_id = :space_id) "
        "ORDER BY id"
    )
    return _TOPICS.rows(tx.all(sql, access, space_id=space_id))


def topics_changed(
    tx: Tx, access: Access, after: int, upto: int, *, spaces: tuple[str, ...] | None = None, limit: int
) -> list[Topic]:  # fmt: skip
    """Return the topics whose newest change lies after one number and up to another, oldest change first."""
    seen, values = seen_topics(tx, access, spaces)
    sql = f"{_SELECT} AND seq > :after AND seq <= :upto AND {seen} ORDER BY seq LIMIT :limit"
    return _TOPICS.rows(tx.all(sql, access, after=after, upto=upto, limit=limit, **values))


def insert_topic(tx: Tx, access: Access, topic: Topic) -> bool:
    """Write a new topic; False when its id is taken."""
    return tx.run(f"{_TOPICS.insert} ON CONFLICT DO NOTHING", access, **_TOPICS.values(topic)) > 0


def save_topic(tx: Tx, access: Access, topic: Topic, *, quiet: bool = False) -> Topic:
    """Write a topic's changed fields under a new number; a quiet change keeps the time of change."""
    changed = structs.replace(topic, seq=tx.tick(), updated_at=topic.updated_at if quiet else tx.now)
    tx.run(_TOPICS.update, access, **_TOPICS.values(changed))
    return changed


def delete_topic(tx: Tx, access: Access, topic_id: str) -> None:
    """Delete a topic that only topics below it refer to; they become top-level."""
    below = "UPDATE topics SET parent_id = NULL, seq = tick() WHERE account_id = :account AND parent_id = :id"
    tx.run(below, access, id=topic_id)
    tx.run("DELETE FROM topics WHERE account_id = :account AND id = :id", access, id=topic_id)


def spaces_of_topic(tx: Tx, access: Access, topic_id: str) -> tuple[str, ...]:
    """Return the spaces that a topic is visible in."""
    sql = "SELECT space_id FROM topic_spaces WHERE account_id = :account AND topic_id = :id ORDER BY space_id"
    return tuple(row[0] for row in tx.all(sql, access, id=topic_id))


def replace_spaces(tx: Tx, access: Access, topic_id: str, spaces: Iterable[str]) -> None:
    """Set the spaces that a topic is visible in."""
    tx.run("DELETE FROM topic_spaces WHERE account_id = :account AND topic_id = :id", access, id=topic_id)
    tx.run_many(
        "INSERT INTO topic_spaces (account_id, topic_id, space_id) VALUES (:account, :topic_id, :space_id)",
        [{"account": access.account_id, "topic_id": topic_id, "space_id": space_id} for space_id in spaces],
    )


def first_sort_index(tx: Tx, access: Access) -> float:
    """Return the sort index of the first topic on the board."""
    row = tx.one("SELECT min(sort_index) FROM topics WHERE account_id = :account", access)
    return float(row[0]) if row and row[0] is not None else 0.0
