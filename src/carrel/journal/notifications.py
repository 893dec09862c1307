"""Telling people: a notification is written, and marked as read, together with the event that says so.

Who is to be told, and in which words, is decided by whoever knows what happened.
"""

from collections.abc import Iterable

from msgspec import structs

from carrel.journal import notification_store
from carrel.journal.model import About, NewNotification, Notification, json_text
from carrel.journal.store import append_event
from carrel.kernel import Access, SessionKey, not_found
from carrel.kernel.limits import NOTIFICATIONS_READ_AT_A_TIME
from carrel.storage import Tx


def notify(tx: Tx, access: Access, recipients: Iterable[str], new: NewNotification) -> None:
    """Put a notification into mailboxes, in the transaction of what it tells of."""
    for recipient in recipients:
        made = Notification(
            **structs.asdict(new), id=tx.new_id("ntf"), recipient=recipient, created_at=tx.now, read_at=None
        )
        notification_store.insert_notification(tx, access, made)
        _tell(tx, access, "notification.created", made)


def read_notification(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification:
    """Mark one as read; one that was read before stays as it is."""
    marked = notification_store.mark_read(tx, access, recipient, notification_id)
    if marked is not None:
        _tell(tx, access, "notification.read", marked)
        return marked
    known = notification_store.notification_by_id(tx, access, recipient, notification_id)
    if known is None:
        raise not_found("notification")
    return known


def read_oldest_notifications(tx: Tx, access: Access, recipient: str) -> tuple[int, bool]:
    """Mark a handful of those that are not read yet; how many that was, and whether there may be more."""
    marked = notification_store.mark_oldest_read(tx, access, recipient, limit=NOTIFICATIONS_READ_AT_A_TIME)
    for notification in marked:
        _tell(tx, access, "notification.read", notification)
    return len(marked), len(marked) == NOTIFICATIONS_READ_AT_A_TIME


def _tell(tx: Tx, access: Access, name: str, told: Notification) -> None:
    key = None if told.key is None else SessionKey.stored(told.key)
    about = About(
        key=told.key,
        conversation=key.conversation if key else None,
        run_id=told.run_id,
        task_id=told.task_id,
        agent_id=key.agent if key else None,
    )
    append_event(tx, access, name, about, json_text({"notification": told.shown()}), recipient=told.recipient)
