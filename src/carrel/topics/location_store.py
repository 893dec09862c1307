"""The SQL of locations: in which spaces tasks and entries are visible, moving them, and departures."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from carrel.journal import Entry, entries_matching
from carrel.kernel import Access, clip
from carrel.kernel.limits import TOPIC_DIGEST_CHARS_MAX
from carrel.storage import Table, Tx

ItemKind = Literal["topic", "task", "log"]
_UNDER_TOPIC = (
    "(i.topic_id = :topic_id OR i.task_id IN (SELECT t.id FROM tasks t WHERE t.account_id = :account "
    "AND t.topic_id = :topic_id))"
)
_CHANGE = "changed_seq = tick(), updated_at = :now"


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
        "topic_id = :topic_id", "type = 'conversation'", "role IN ('user', 'assistant')", "classification <> 'failed'",
        "seq < :before",
    )  # fmt: skip
    upto = 1 << 62 if before is None else before
    return entries_matching(tx, access, rules, limit=limit, topic_id=topic_id, before=upto)[::-1]


def set_task_digest(tx: Tx, access: Access, task_id: str, text: str) -> bool:
    """Replace the digest of a task without changing its time of change. False if there is no such task."""
    sql = (
        "UPDATE tasks SET digest = :digest, digest_updated_at = :now, seq = tick() "
        "WHERE account_id = :account AND id = :id"
    )
    return tx.run(sql, access, digest=clip(text, TOPIC_DIGEST_CHARS_MAX), now=tx.now, id=task_id) > 0


def depart(tx: Tx, access: Access, kind: ItemKind, item_id: str, spaces: Iterable[str]) -> None:
    """Record that a topic or task is no longer visible in these spaces."""
    sql = f"{_DEPART} VALUES (:account, tick(), :kind, :item_id, :space_id)"
    for space_id in spaces:
        tx.run(sql, access, kind=kind, item_id=item_id, space_id=space_id)


def depart_with_topic(tx: Tx, access: Access, topic_id: str, spaces: Iterable[str]) -> None:
    """Record that a topic, its tasks and their entries are no longer visible in these spaces through it."""
    tasks = (
        f"{_DEPART} SELECT i.account_id, tick(), 'task', i.id, :space_id FROM tasks i "
        "WHERE i.account_id = :account AND i.topic_id = :topic_id"
    )
    entries = f"{_DEPART_ENTRIES} :space_id FROM entries i WHERE i.account_id = :account AND {_UNDER_TOPIC}"
    for space_id in spaces:
        depart(tx, access, "topic", topic_id, [space_id])
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
        depart(tx, access, "task", task_id, [space_id])
        tx.run(sql, access, task_id=task_id, space_id=space_id)


def move_entries_of_space(tx: Tx, access: Access, space_id: str, to: str) -> None:
    """Move the entries of one space into another."""
    _move(tx, access, "i.space_id = :of", {"of": space_id}, to)


def move_entries_of_topic(tx: Tx, access: Access, topic_id: str, to: str) -> None:
    """Move the entries of a topic and of its tasks into its space."""
    _move(tx, access, _UNDER_TOPIC, {"topic_id": topic_id}, to)


def move_entries_of_task(tx: Tx, access: Access, task_id: str, to: str) -> None:
    """Move the entries of a task into its space."""
    _move(tx, access, "i.task_id = :task_id", {"task_id": task_id}, to)


def set_topic_of_entries(tx: Tx, access: Access, task_id: str, topic_id: str | None) -> None:
    """Put the entries of a task under its topic."""
    other = "i.topic_id IS NOT NULL" if topic_id is None else "(i.topic_id IS NULL OR i.topic_id <> :topic_id)"
    value = "NULL" if topic_id is None else ":topic_id"
    sql = (
        f"UPDATE entries AS i SET topic_id = {value}, {_CHANGE} WHERE i.account_id = :account "
        f"AND i.task_id = :task_id AND {other}"
    )
    values: dict[str, object] = {} if topic_id is None else {"topic_id": topic_id}
    left = (
        f"{_DEPART_ENTRIES} p.space_id FROM entries i "
        "JOIN topic_spaces p ON p.account_id = i.account_id AND p.topic_id = i.topic_id "
        f"WHERE i.account_id = :account AND i.task_id = :task_id AND {other}"
    )
    tx.run(left, access, task_id=task_id, **values)
    tx.run(sql, access, task_id=task_id, now=tx.now, **values)


def detach_entries_of_topic(tx: Tx, access: Access, topic_id: str) -> None:
    """Remove the topic from its entries."""
    sql = f"UPDATE entries SET topic_id = NULL, {_CHANGE} WHERE account_id = :account AND topic_id = :topic_id"
    tx.run(sql, access, topic_id=topic_id, now=tx.now)


def _move(tx: Tx, access: Access, which: str, values: dict[str, object], to: str) -> None:
    left = (
        f"{_DEPART_ENTRIES} i.space_id FROM entries i "
        f"WHERE i.account_id = :account AND {which} AND i.space_id IS NOT NULL AND i.space_id <> :to"
    )
    tx.run(left, access, to=to, **values)
    sql = (
        f"UPDATE entries AS i SET space_id = :to, {_CHANGE} WHERE i.account_id = :account AND {which} "
        "AND (i.space_id IS NULL OR i.space_id <> :to)"
    )
    tx.run(sql, access, to=to, now=tx.now, **values)


def departures_between(
    tx: Tx, access: Access, after: int, upto: int, *, spaces: tuple[str, ...], limit: int
) -> list[Departure]:  # fmt: skip
    """Return what left any of these spaces after one number and up to another, in order."""
    values: dict[str, object] = {f"space_{at}": space for at, space in enumerate(access.narrowed(spaces))}
    named = ", ".join(f":{name}" for name in values)
    if not values or "*" in values.values():
        # Nothing ever leaves the whole account.
        return []
    sql = (
        f"{_DEPARTURES.select} WHERE account_id = :account AND seq > :after AND seq <= :upto "
        f"AND space_id IN ({named}) ORDER BY seq LIMIT :limit"
    )
    return _DEPARTURES.rows(tx.all(sql, access, after=after, upto=upto, limit=limit, **values))
