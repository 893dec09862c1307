"""Notifications to people, each in their own mailbox, until they have read them."""

from carrel.notifications.mailboxes import notify, read_notification, read_oldest_notifications
from carrel.notifications.model import OWNERS, NewNotification, NotificationShape, NotificationType, mailbox_of
from carrel.notifications.store import count_unread, forget_mailbox, newest_notifications, prune_notifications

__all__ = [
    "OWNERS", "NewNotification", "NotificationShape", "NotificationType", "count_unread", "forget_mailbox",
    "mailbox_of", "newest_notifications", "notify", "prune_notifications", "read_notification",
    "read_oldest_notifications",
]  # fmt: skip
