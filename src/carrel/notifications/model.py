"""Notifications to people as values, each in their own mailbox."""

from typing import Literal

from msgspec import Struct

from carrel.kernel import Access, Shape

# The mailbox that all owner tokens of an account share: every holder is the same owner.
OWNERS = "owners"
NotificationType = Literal[
    "run_failed", "run_undelivered", "progress", "mention", "assignment", "thread_update", "status_change",
    "response_request", "budget", "loop",
]  # fmt: skip


def mailbox_of(access: Access) -> str | None:
    """Return the mailbox of the caller; only people have one."""
    return {"owner": OWNERS, "user": access.user_id}.get(access.kind)


class NewNotification(Struct, frozen=True, kw_only=True):
    """A notification to be put into mailboxes."""

    type: NotificationType
    title: str
    body: str
    key: str | None = None
    task_id: str | None = None
    entry_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None


class Notification(NewNotification, frozen=True, kw_only=True):
    """A stored notification; its fields are the columns of its table."""

    id: str
    recipient: str
    created_at: int
    read_at: int | None = None

    def shown(self) -> "NotificationShape":
        """Return the notification as lists and events show it."""
        return NotificationShape.of(self, session_key=self.key)


class NotificationShape(Shape, frozen=True, kw_only=True):
    """A notification; `readAt` is set once it was read."""

    id: str
    type: NotificationType
    title: str
    body: str
    task_id: str | None
    entry_id: str | None
    run_id: str | None
    session_id: str | None
    session_key: str | None
    created_at: str
    read_at: str | None
