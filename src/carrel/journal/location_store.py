"""The SQL of an entry's location: the spaces in which it is visible, and those that a change makes it leave."""

from carrel.journal.model import DEFAULT_SPACE, Entry, NewEntry
from carrel.kernel import Access
from carrel.storage import Tx


def location_from_task(tx: Tx, access: Access, entry: NewEntry) -> dict[str, str | None]:
    """Return the topic and space that a new entry takes from its task, if it was given none.

    The default space counts as given only if somebody chose it.
    """
    if entry.task is None or entry.space_id is not None:
        return {}
    sql = "SELECT topic_id, space_id FROM tasks WHERE account_id = :account AND id = :id"
    row = tx.one(sql, access, id=entry.task)
    if row is None:
        return {}
    return {"topic_id": entry.topic_id or row[0], "space_id": None if row[1] == DEFAULT_SPACE else row[1]}


def leave_spaces(tx: Tx, access: Access, changed: Entry) -> None:
    """Record the spaces in which an entry that is about to change will no longer be visible."""
    sql = "SELECT topic_id, task_id, space_id FROM entries WHERE account_id = :account AND seq = :seq"
    before, after = tx.one(sql, access, seq=changed.seq), (changed.topic_id, changed.task_id, changed.space_id)
    if before is None or before == after:
        return
    sql = (
        "INSERT INTO departures (account_id, seq, kind, item_id, key, agent_id, space_id) "
        "VALUES (:account, tick(), 'log', :item_id, :key, :agent_id, :space_id)"
    )
    entry = {"item_id": changed.id, "key": changed.key, "agent_id": changed.agent_id}
    for space_id in sorted(_spaces(tx, access, *before) - _spaces(tx, access, *after)):
        tx.run(sql, access, space_id=space_id, **entry)


def spaces_of_entry(tx: Tx, access: Access, entry: Entry) -> list[str]:
    return sorted(_spaces(tx, access, entry.topic_id, entry.task_id, entry.space_id))


def _spaces(tx: Tx, access: Access, topic_id: str | None, task_id: str | None, space_id: str | None) -> set[str]:
    found = spaces_of(tx, access, topic_id, task_id)
    return (found | {space_id} if space_id else found) or {DEFAULT_SPACE}


def spaces_of(tx: Tx, access: Access, topic_id: str | None, task_id: str | None) -> set[str]:
    """Return the spaces in which a topic or a task is visible; none if there is no such thing."""
    found, topics = set[str](), {topic_id}
    if task_id is not None:
        sql = "SELECT space_id, topic_id FROM tasks WHERE account_id = :account AND id = :id"
        row = tx.one(sql, access, id=task_id)
        if row is not None:
            found.add(row[0])
            topics.add(row[1])
    for topic in topics - {None}:
        sql = "SELECT space_id FROM topic_spaces WHERE account_id = :account AND topic_id = :id"
        found |= {row[0] for row in tx.all(sql, access, id=topic)}
    return found
