"""The SQL of notifications: mailboxes, read newest first, each with a bound on what it keeps."""

from msgspec import structs

from carrel.journal.model import Notification
from carrel.kernel import Access, first_id
from carrel.storage import Row, Tx

_NAMES = Notification.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_MAILBOX = "account_id = :account AND recipient = :recipient"
_UNREAD = f"{_MAILBOX} AND read_at IS NULL"


def insert_notification(tx: Tx, access: Access, notification: Notification) -> None:
    """Put a notification into its recipient's mailbox."""
    tx.run(
        f"INSERT INTO notifications (account_id, {_COLUMNS}) "
        f"VALUES (:account, {', '.join(f':{name}' for name in _NAMES)})",
        account=access.account_id,
        **{name: getattr(notification, name) for name in _NAMES},
    )


def newest_notifications(
    tx: Tx, access: Access, recipient: str, *, limit: int, before: str | None = None, unread: bool = False
) -> list[Notification]:
    """A mailbox below an id, the newest first; on demand only what is not read yet."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM notifications WHERE {_UNREAD if unread else _MAILBOX} "
        f"{'' if before is None else 'AND id < :before '}ORDER BY id DESC LIMIT :limit",
        account=access.account_id,
        recipient=recipient,
        limit=limit,
        **({} if before is None else {"before": before}),
    )
    return [_notification(row) for row in rows]


def count_unread(tx: Tx, access: Access, recipient: str) -> int:
    """How many notifications of a mailbox are not read yet."""
    row = tx.one(f"SELECT count(*) FROM notifications WHERE {_UNREAD}", account=access.account_id, recipient=recipient)
    return int(row[0]) if row else 0


def notification_by_id(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification | None:
    """One notification of a mailbox."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM notifications WHERE {_MAILBOX} AND id = :id",
        account=access.account_id,
        recipient=recipient,
        id=notification_id,
    )
    return None if row is None else _notification(row)


def mark_read(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification | None:
    """Mark one notification of a mailbox; None when there is none that was unread."""
    row = tx.one(
        f"UPDATE notifications SET read_at = :now WHERE {_UNREAD} AND id = :id RETURNING {_COLUMNS}",
        account=access.account_id,
        recipient=recipient,
        id=notification_id,
        now=tx.now,
    )
    return None if row is None else _notification(row)


def mark_oldest_read(tx: Tx, access: Access, recipient: str, *, limit: int) -> list[Notification]:
    """Mark the oldest unread ones of a mailbox; those that were marked."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM notifications WHERE {_UNREAD} ORDER BY id LIMIT :limit FOR UPDATE",
        account=access.account_id,
        recipient=recipient,
        limit=limit,
    )
    marked = [structs.replace(_notification(row), read_at=tx.now) for row in rows]
    tx.run_many(
        "UPDATE notifications SET read_at = :now WHERE account_id = :account AND id = :id",
        [{"account": access.account_id, "id": each.id, "now": tx.now} for each in marked],
    )
    return marked


def prune_notifications(tx: Tx, access: Access, before: int, *, keep: int, limit: int) -> int:
    """Remove up to `limit` that are older than a moment, and of each mailbox those beyond its newest `keep`."""
    removed = tx.run(
        "DELETE FROM notifications WHERE account_id = :account AND id IN (SELECT id FROM notifications "
        "WHERE account_id = :account AND id < :upto ORDER BY id LIMIT :limit)",
        account=access.account_id,
        upto=first_id("ntf", before),
        limit=limit,
    )
    full = tx.all(
        "SELECT recipient, count(*) FROM notifications WHERE account_id = :account "
        "GROUP BY recipient HAVING count(*) > :keep",
        account=access.account_id,
        keep=keep,
    )
    for recipient, count in full:
        removed += tx.run(
            "DELETE FROM notifications WHERE account_id = :account AND id IN (SELECT id FROM notifications "
            f"WHERE {_MAILBOX} ORDER BY id LIMIT :limit)",
            account=access.account_id,
            recipient=recipient,
            limit=min(limit, count - keep),
        )
    return removed


def forget_mailbox(tx: Tx, access: Access, recipient: str) -> None:
    """Remove a mailbox with all that is in it."""
    tx.run(f"DELETE FROM notifications WHERE {_MAILBOX}", account=access.account_id, recipient=recipient)


def _notification(row: Row) -> Notification:
    return Notification(**dict(zip(_NAMES, row, strict=True)))
