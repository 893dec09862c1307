"""`notifications`: read your mailbox."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import option
from carrel.main.cli.names import LIMIT, NOTIFICATIONS
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Request, Table, ago
from carrel.main.terminal_text import terminal_text

_ID = option(
    "notification_id", "NOTIFICATION", "id of the notification, or a unique beginning of it", of=NOTIFICATIONS.of
)
_LIST = Table(
    "notifications",
    {
        "NOTIFICATION": "id",
        "MARK": lambda one: "read" if one["readAt"] else "new",
        "AGE": ago("createdAt"),
        "TASK OR RUN": lambda one: one["taskId"] or one["runId"],
        "TITLE": "title",
    },
    "No notifications yet.",
)


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    notification = dict(answer["notification"])
    title, body = notification.pop("title"), notification.pop("body")
    screen.out.write(screen.paint("bold", terminal_text(title)) + "\n")
    screen.line(body)
    screen.line()
    screen.facts(notification.items())


COMMANDS = (
    Request("notifications list", "list notifications", "GET /api/notifications", _LIST).takes(
        option("--unread", action="store_const", const="1", help="only unread ones"), LIMIT
    ),
    Request(
        "notifications read", "show a notification and mark it as read", "POST /api/notifications/{}/read", _show
    ).takes(_ID),
    Request(
        "notifications read-all",
        "mark every notification as read",
        "POST /api/notifications/read-all",
        "{read} marked as read.",
    ),
)
