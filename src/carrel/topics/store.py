"""The SQL of topics, and of where tasks and entries are visible, moving them, and departures."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, structs

from carrel.journal import Entry, entries_matching, json_text
from carrel.kernel import Access, clip
from carrel.kernel.limits import TOPIC_DIGEST_CHARS_MAX
from carrel.storage import FLAG, Table, Tx, in_list, json_column
from carrel.topics.model import Merged, Topic, TopicFilter
from carrel.visibility import seen_topics

_TOPICS = Table("topics", Topic, codecs={
    "tags": json_column(tuple[str, ...]), "pinned": FLAG, "curated": FLAG,
    "merged_from": json_column(tuple[Merged, ...]),
})  # fmt: skip
_SELECT = f"{_TOPICS.select} WHERE account_id = :account"
ItemKind = Literal["topic", "task", "log"]
_UNDER_TOPIC = (
    "(i.topic_id = :topic_id OR i.task_id IN (SELECT t.id FROM tasks t WHERE t.account_id = :account "
    "AND t.topic_id = :topic_id))"
)
_CHANGE = "changed_seq = tick(), updated_at = :now"


def topic_by_id(tx: Tx, access: Access, topic_id: str, *, hold: bool = False) -> Topic | None:
    """Return one topic that the caller may see; `hold` locks it until the end of the transaction, before its tasks."""
    seen, values = seen_topics(tx, access)
    sql = f"{_SELECT} AND id = :id AND {seen}{' FOR NO KEY UPDATE' if hold else ''}"
    return _TOPICS.row(tx.one(sql, access, id=topic_id, **values))


def topics_by_id(tx: Tx, access: Access, topic_ids: Iterable[str]) -> list[Topic]:
    """Return the visible ones of these topics."""
    seen, values = seen_topics(tx, access)
    return _TOPICS.among(tx, access, "id", topic_ids, f"AND {seen}", **values)


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
    within = "SELECT topic_id FROM topic_spaces WHERE account_id = :account AND space_id = :space_id"
    sql = f"{_SELECT} AND id IN ({within}) ORDER BY id"
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
    tx.run("DELETE FROM topic_spaces WHERE account_id = :account AND topic_id = :id", access, id=topic_id)
    tx.run_many(
        "INSERT INTO topic_spaces (account_id, topic_id, space_id) VALUES (:account, :topic_id, :space_id)",
        [{"account": access.account_id, "topic_id": topic_id, "space_id": space_id} for space_id in spaces],
    )


def first_sort_index(tx: Tx, access: Access) -> float:
    return tx.value("SELECT min(sort_index) FROM topics WHERE account_id = :account", access) or 0.0


class Departure(Struct, frozen=True):
    """A topic, task or entry that was visible in a space until then."""

    seq: int
    kind: ItemKind
    item_id: str
    space_id: str
    # The lane and the agent of an entry.
    key: str | None = None
    agent_id: str | None = None


_DEPARTURES = Table("departures", Departure, key=("account_id", "seq"))
_DEPART = "INSERT INTO departures (account_id, seq, kind, item_id, space_id)"
_DEPART_ENTRIES = (
    "INSERT INTO departures (account_id, seq, kind, item_id, key, agent_id, space_id) "
    "SELECT i.account_id, tick(), 'log', i.id, i.key, i.agent_id,"
)


def messages_of_topic(tx: Tx, access: Access, topic_id: str, *, limit: int, before: int | None = None) -> list[Entry]:
    """Return the newest `limit` messages of a topic below a number, oldest first, without filtered ones."""
    rules = (
        "topic_id = :topic_id", "type = 'conversation'", "role IN ('user', 'assistant')", "classification <> 'failed'"
    )  # fmt: skip
    return entries_matching(tx, access, rules, before=before, limit=limit, topic_id=topic_id)[::-1]


def set_task_digest(tx: Tx, access: Access, task_id: str, text: str) -> bool:
    """Replace the digest of a task without changing its time of change. False if there is no such task."""
    sql = (
        "UPDATE tasks SET digest = :digest, digest_updated_at = :now, seq = tick() "
        "WHERE account_id = :account AND id = :id"
    )
    return tx.run(sql, access, digest=clip(text, TOPIC_DIGEST_CHARS_MAX), now=tx.now, id=task_id) > 0


def depart(tx: Tx, access: Access, kind: ItemKind, item_id: str, space_id: str) -> None:
    """Record that a topic or task is no longer visible in a space."""
    sql = f"{_DEPART} VALUES (:account, tick(), :kind, :item_id, :space_id)"
    tx.run(sql, access, kind=kind, item_id=item_id, space_id=space_id)


def depart_with_topic(tx: Tx, access: Access, topic_id: str, spaces: Iterable[str]) -> None:
    """Record that a topic, its tasks and their entries are no longer visible in these spaces through it."""
    tasks = (
        f"{_DEPART} SELECT i.account_id, tick(), 'task', i.id, :space_id FROM tasks i "
        "WHERE i.account_id = :account AND i.topic_id = :topic_id"
    )
    entries = f"{_DEPART_ENTRIES} :space_id FROM entries i WHERE i.account_id = :account AND {_UNDER_TOPIC}"
    for space_id in spaces:
        depart(tx, access, "topic", topic_id, space_id)
        tx.run(tasks, access, topic_id=topic_id, space_id=space_id)
        tx.run(entries, access, topic_id=topic_id, space_id=space_id)


def appear_with_topic(tx: Tx, access: Access, topic_id: str) -> None:
    """Number a topic's tasks and their entries as changed, because more spaces see them now."""
    tasks = "UPDATE tasks SET seq = tick() WHERE account_id = :account AND topic_id = :topic_id"
    tx.run(tasks, access, topic_id=topic_id)
    entries = f"UPDATE entries AS i SET changed_seq = tick() WHERE i.account_id = :account AND {_UNDER_TOPIC}"
    tx.run(entries, access, topic_id=topic_id)


def depart_with_task(tx: Tx, access: Access, task_id: str, spaces: Iterable[str]) -> None:
    """Record that a task and its entries are no longer visible in these spaces through it."""
    sql = f"{_DEPART_ENTRIES} :space_id FROM entries i WHERE i.account_id = :account AND i.task_id = :task_id"
    for space_id in spaces:
        depart(tx, access, "task", task_id, space_id)
        tx.run(sql, access, task_id=task_id, space_id=space_id)


def move_entries(tx: Tx, access: Access, of: Literal["space", "topic", "task"], item_id: str, to: str) -> None:
    """Move the entries of a space, of a topic with its tasks, or of a task into a space."""
    which, named = _UNDER_TOPIC if of == "topic" else f"i.{of}_id = :{of}_id", {f"{of}_id": item_id}
    left = (
        f"{_DEPART_ENTRIES} i.space_id FROM entries i "
        f"WHERE i.account_id = :account AND {which} AND i.space_id IS NOT NULL AND i.space_id <> :to"
    )
    tx.run(left, access, to=to, **named)
    sql = (
        f"UPDATE entries AS i SET space_id = :to, {_CHANGE} WHERE i.account_id = :account AND {which} "
        "AND (i.space_id IS NULL OR i.space_id <> :to)"
    )
    tx.run(sql, access, to=to, now=tx.now, **named)


def set_topic_of_entries(tx: Tx, access: Access, task_id: str, topic_id: str | None) -> None:
    """Put the entries of a task under its topic."""
    other = "i.topic_id IS NOT NULL" if topic_id is None else "(i.topic_id IS NULL OR i.topic_id <> :topic_id)"
    value = "NULL" if topic_id is None else ":topic_id"
    sql = (
        f"UPDATE entries AS i SET topic_id = {value}, {_CHANGE} WHERE i.account_id = :account "
        f"AND i.task_id = :task_id AND {other}"
    )
    values = {"task_id": task_id} | ({} if topic_id is None else {"topic_id": topic_id})
    depart_from_topics(tx, access, f"i.task_id = :task_id AND {other}", **values)
    tx.run(sql, access, now=tx.now, **values)


def depart_from_topics(tx: Tx, access: Access, which: str, **values: object) -> None:
    """Record that entries `i` are about to leave the spaces of their topics; `which` is a condition of their store."""
    sql = (
        f"{_DEPART_ENTRIES} p.space_id FROM entries i "
        "JOIN topic_spaces p ON p.account_id = i.account_id AND p.topic_id = i.topic_id "
        f"WHERE i.account_id = :account AND {which}"
    )
    tx.run(sql, access, **values)


def detach_entries_of_topic(tx: Tx, access: Access, topic_id: str) -> None:
    sql = f"UPDATE entries SET topic_id = NULL, {_CHANGE} WHERE account_id = :account AND topic_id = :topic_id"
    tx.run(sql, access, topic_id=topic_id, now=tx.now)


def departures_between(
    tx: Tx, access: Access, after: int, upto: int, *, spaces: tuple[str, ...], limit: int
) -> list[Departure]:  # fmt: skip
    """Return what left any of these spaces after one number and up to another, in order."""
    named, values = in_list("space", access.narrowed(spaces))
    if not values or "*" in values.values():
        # Nothing ever leaves the whole account.
        return []
    sql = (
        f"{_DEPARTURES.select} WHERE account_id = :account AND seq > :after AND seq <= :upto "
        f"AND space_id IN ({named}) ORDER BY seq LIMIT :limit"
    )
    return _DEPARTURES.rows(tx.all(sql, access, after=after, upto=upto, limit=limit, **values))
