"""Notifications: listing them and marking them as read. Everyone sees only their own."""

from carrel.kernel import PEOPLE, Access, Input, Shape
from carrel.kernel.fields import Cursor
from carrel.notifications import (
    NotificationShape,
    count_unread,
    mailbox_of,
    newest_notifications,
    read_notification,
    read_oldest_notifications,
)
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.visibility import seen_notifications


class NotificationsQuery(Input, frozen=True, kw_only=True):
    """Which notifications to list."""

    unread: bool = False
    limit: int | None = None
    cursor: Cursor | None = None


class NotificationList(Shape, frozen=True, kw_only=True):
    """A page of notifications, newest first, and the number of unread ones."""

    notifications: list[NotificationShape]
    unread_count: int
    next_cursor: str | None


@endpoint("GET", "/api/notifications", who=PEOPLE)
def list_notifications(call: Call[None, NotificationsQuery], tx: Tx, access: Access) -> NotificationList:
    """List the caller's notifications, newest first."""
    limit = clamp(call.query.limit)
    position = read_cursor(call.query.cursor, tuple[str])
    before, mailbox, seen = position[0] if position else None, _mailbox(access), seen_notifications(tx, access)
    found = newest_notifications(
        tx, access, mailbox, limit=limit + 1, before=before, unread=call.query.unread, seen=seen
    )  # fmt: skip
    page, following = cut(found, limit, lambda notification: (notification.id,))
    return NotificationList(
        notifications=[notification.shown() for notification in page],
        unread_count=count_unread(tx, access, mailbox, seen=seen),
        next_cursor=following,
    )


@endpoint("POST", "/api/notifications/{id}/read", "notification", who=PEOPLE)
def mark_as_read(call: Call[None, NoQuery], tx: Tx, access: Access) -> NotificationShape:
    """Mark a notification as read."""
    return read_notification(tx, access, _mailbox(access), call.path("id")).shown()


@endpoint("POST", "/api/notifications/read-all", "read", who=PEOPLE)
async def mark_all_as_read(call: Call[None, NoQuery]) -> int:
    """Mark all of the caller's notifications as read."""
    read, more = 0, True
    while more:
        marked, more = await call.write(lambda tx, access: read_oldest_notifications(tx, access, _mailbox(access)))
        read += marked
    return read


def _mailbox(access: Access) -> str:
    mailbox = mailbox_of(access)
    assert mailbox is not None, "people have a mailbox, and this endpoint is for people only"
    return mailbox
