"""The board's SQL: where entries belong, and which of them are the same."""

from carrel.board.model import Place
from carrel.kernel import Access
from carrel.storage import Tx


def place_of_task(tx: Tx, access: Access, task_id: str) -> Place | None:
    """Return the place of a task's entries; None when there is no such task."""
    row = tx.one("SELECT topic_id, space_id FROM tasks WHERE account_id = :account AND id = :id", access, id=task_id)
    return None if row is None else Place(row[0], task_id, row[1])


def place_of_topic(tx: Tx, access: Access, topic_id: str) -> Place | None:
    """Return the place of a topic's entries; None when there is no such topic."""
    row = tx.one("SELECT space_id FROM topics WHERE account_id = :account AND id = :id", access, id=topic_id)
    return None if row is None else Place(topic_id, None, row[0])


def space_exists(tx: Tx, access: Access, space_id: str) -> bool:
    """Return whether there is a space of this id."""
    return tx.one("SELECT 1 FROM spaces WHERE account_id = :account AND id = :id", access, id=space_id) is not None


def entry_once(tx: Tx, access: Access, dedupe: str) -> str | None:
    """Return the id of the entry that was sent under this mark."""
    row = tx.one("SELECT id FROM entries WHERE account_id = :account AND dedupe = :dedupe", access, dedupe=dedupe)
    return row[0] if row else None


def entry_of_message(
    tx: Tx, access: Access, kind: str, author: str, channel: str | None, message_id: str
) -> str | None:  # fmt: skip
    """Return the id of the entry of a message that its sender has named."""
    sql = (
        "SELECT id FROM entries WHERE account_id = :account AND message_id = :message_id AND type = :kind "
        "AND author = :author AND COALESCE(channel, '') = :channel ORDER BY seq LIMIT 1"
    )
    row = tx.one(sql, access, message_id=message_id, kind=kind, author=author, channel=channel or "")
    return row[0] if row else None
