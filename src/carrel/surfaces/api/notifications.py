"""Notifications: listing them and marking them as read. Everyone sees only their own."""

from functools import partial

from carrel.kernel import PEOPLE, Access, Shape
from carrel.notifications import (
    NotificationShape,
    count_unread,
    mailbox_of,
    newest_notifications,
    read_notification,
    read_oldest_notifications,
)
from carrel.storage import Tx
from carrel.surfaces.api.cursors import PageQuery, paged_by_id
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.visibility import seen_notifications


class NotificationsQuery(PageQuery, frozen=True, kw_only=True):
    """Which notifications to list."""

    unread: bool = False


class NotificationList(Shape, frozen=True, kw_only=True):
    """A page of notifications, newest first, and the number of unread ones."""

    notifications: list[NotificationShape]
    unread_count: int
    next_cursor: str | None


@endpoint("GET", "/api/notifications", who=PEOPLE)
def list_notifications(call: Call[None, NotificationsQuery], tx: Tx, access: Access) -> NotificationList:
    """List the caller's notifications, newest first."""
    mailbox, seen = _mailbox(access), seen_notifications(tx, access)
    newest = partial(newest_notifications, tx, access, mailbox, unread=call.query.unread, seen=seen)
    page = paged_by_id(call.query, lambda before, most: newest(before=before, limit=most))
    return NotificationList.of(
        page,
        notifications=[notification.shown() for notification in page.items],
        unread_count=count_unread(tx, access, mailbox, seen=seen),
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
