"""Notifications: written and marked as read, together with the event about it.

The callers decide who is notified, and of what.
"""

from collections.abc import Iterable

from msgspec import structs

from carrel.journal import About, append_event, json_text
from carrel.kernel import Access, SessionKey, not_found
from carrel.kernel.limits import NOTIFICATIONS_READ_AT_A_TIME
from carrel.notifications import store
from carrel.notifications.model import NewNotification, Notification
from carrel.storage import Tx


def notify(tx: Tx, access: Access, recipients: Iterable[str], new: NewNotification) -> None:
    """Put a notification into mailboxes, in the transaction of the change that it reports."""
    for recipient in recipients:
        created = Notification(
            **structs.asdict(new), id=tx.new_id("ntf"), recipient=recipient, created_at=tx.now, read_at=None
        )
        store.insert_notification(tx, access, created)
        _append_event(tx, access, "notification.created", created)


def read_notification(tx: Tx, access: Access, recipient: str, notification_id: str) -> Notification:
    """Mark a notification as read; one that was already read stays unchanged."""
    if (marked := store.mark_read(tx, access, recipient, notification_id)) is not None:
        _append_event(tx, access, "notification.read", marked)
        return marked
    known = store.notification_by_id(tx, access, recipient, notification_id)
    if known is None:
        raise not_found("notification")
    return known


def read_oldest_notifications(tx: Tx, access: Access, recipient: str) -> tuple[int, bool]:
    """Mark a batch of unread notifications as read; return how many, and whether there may be more."""
    marked = store.mark_oldest_read(tx, access, recipient, limit=NOTIFICATIONS_READ_AT_A_TIME)
    for notification in marked:
        _append_event(tx, access, "notification.read", notification)
    return len(marked), len(marked) == NOTIFICATIONS_READ_AT_A_TIME


def _append_event(tx: Tx, access: Access, name: str, notification: Notification) -> None:
    key = None if notification.key is None else SessionKey.stored(notification.key)
    about = About(
        key=notification.key,
        conversation=key.conversation if key else None,
        run_id=notification.run_id,
        task_id=notification.task_id,
        agent_id=key.agent if key else None,
    )
    append_event(
        tx, access, name, about, json_text({"notification": notification.shown()}), recipient=notification.recipient
    )
