"""The SQL of notifications: mailboxes, read newest first, each with a size limit."""

from msgspec import structs

from carrel.kernel import Access, first_id
from carrel.notifications.model import Notification
from carrel.storage import Condition, Table, Tx

_TABLE = Table("notifications", Notification)
_SELECT = f"SELECT {_TABLE.columns} FROM notifications"
_MAILBOX = "account_id = :account AND recipient = :recipient"
_UNREAD = f"{_MAILBOX} AND read_at IS NULL"
EVERYTHING: Condition = ("TRUE", {})


def insert_notification(tx: Tx, access: Access, notification: Notification) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(notification))


def newest_notifications(
    tx: Tx, access: Access, recipient: str, *, limit: int, before: str | None = None, unread: bool = False,
    seen: Condition = EVERYTHING,
) -> list[Notification]:  # fmt: skip
    """Return the visible part of a mailbox below an id, newest first; with `unread` only unread ones."""
    older = {} if before is None else {"before": before}
    sql = (
        f"{_SELECT} WHERE {_UNREAD if unread else _MAILBOX} AND {seen[0]} {'AND id < :before ' if older else ''}"
        "ORDER BY id DESC LIMIT :limit"
    )
    return _TABLE.rows(tx.all(sql, access, recipient=recipient, limit=limit, **older, **seen[1]))


def count_unread(tx: Tx, access: Access, recipient: str, *, seen: Condition = EVERYTHING) -> int:
    """Return how many visible notifications of a mailbox are unread."""
    sql = f"SELECT count(*) FROM notifications WHERE {_UNREAD} AND {seen[0]}"
    return tx.value(sql, access, recipient=recipient, **seen[1]) or 0


def notification_by_id(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification | None:
    sql = f"{_SELECT} WHERE {_MAILBOX} AND id = :id"
    return _TABLE.row(tx.one(sql, access, recipient=recipient, id=notification_id))


def mark_read(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification | None:
    """Mark one notification of a mailbox as read; None if no unread one has that id."""
    sql = f"UPDATE notifications SET read_at = :now WHERE {_UNREAD} AND id = :id RETURNING {_TABLE.columns}"
    return _TABLE.row(tx.one(sql, access, recipient=recipient, id=notification_id, now=tx.now))


def mark_oldest_read(tx: Tx, access: Access, recipient: str, *, limit: int) -> list[Notification]:
    """Mark the oldest unread notifications of a mailbox as read and return them."""
    sql = f"{_SELECT} WHERE {_UNREAD} ORDER BY id LIMIT :limit FOR UPDATE"
    unread = _TABLE.rows(tx.all(sql, access, recipient=recipient, limit=limit))
    tx.run_many(
        "UPDATE notifications SET read_at = :now WHERE account_id = :account AND id = :id",
        [{"account": access.account_id, "id": each.id, "now": tx.now} for each in unread],
    )
    return [structs.replace(each, read_at=tx.now) for each in unread]


def prune_notifications(tx: Tx, access: Access, before: int, *, keep: int, limit: int) -> int:
    """Delete up to `limit` that are older than a moment, and from each mailbox those beyond its newest `keep`."""
    delete = "DELETE FROM notifications WHERE account_id = :account AND id IN (SELECT id FROM notifications WHERE"
    old = f"{delete} account_id = :account AND id < :upto ORDER BY id LIMIT :limit)"
    removed = tx.run(old, access, upto=first_id("ntf", before), limit=limit)
    full = (
        "SELECT recipient, count(*) FROM notifications WHERE account_id = :account "
        "GROUP BY recipient HAVING count(*) > :keep"
    )
    for recipient, count in tx.all(full, access, keep=keep):
        surplus = f"{delete} {_MAILBOX} ORDER BY id LIMIT :limit)"
        removed += tx.run(surplus, access, recipient=recipient, limit=min(limit, count - keep))
    return removed


def forget_mailbox(tx: Tx, access: Access, recipient: str) -> None:
    """Delete a mailbox with everything in it."""
    tx.run(f"DELETE FROM notifications WHERE {_MAILBOX}", access, recipient=recipient)
