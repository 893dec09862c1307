"""`notifications`: read your mailbox."""

from argparse import Namespace

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import NOTIFICATIONS, of
from carrel.main.cli.output import Screen, safe
from carrel.main.cli.wording import age


def list_notifications(args: Namespace, screen: Screen) -> int:
    """List notifications, newest first."""
    with connect(args) as client:
        answer = client.get("/api/notifications", {"unread": "1" if args.unread else None, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (one["id"], "read" if one["readAt"] else "new", age(one["createdAt"]), one["runId"], one["title"])
        for one in answer["notifications"]
    ]
    screen.table(("NOTIFICATION", "MARK", "AGE", "RUN", "TITLE"), rows, empty="No notifications yet.")
    return Exit.OK


def read(args: Namespace, screen: Screen) -> int:
    """Show a notification and mark it as read."""
    with connect(args) as client:
        answer = of(client, NOTIFICATIONS, args.notification_id, lambda path: client.post(f"{path}/read"))
    if screen.as_json:
        return screen.json(answer)
    notification = dict(answer["notification"])
    title, body = notification.pop("title"), notification.pop("body")
    screen.out.write(screen.paint("bold", safe(title)) + "\n")
    screen.line(body)
    screen.line()
    screen.facts(notification.items())
    return Exit.OK


def read_all(args: Namespace, screen: Screen) -> int:
    """Mark every notification as read."""
    with connect(args) as client:
        answer = client.post("/api/notifications/read-all")
    if screen.as_json:
        return screen.json(answer)
    screen.line(f"{answer['read']} marked as read.")
    return Exit.OK


COMMANDS = (
    Command(
        "notifications list",
        "list notifications",
        list_notifications,
        (
            option("--unread", action="store_true", help="only unread ones"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command(
        "notifications read",
        "show a notification and mark it as read",
        read,
        (option("notification_id", metavar="NOTIFICATION", help="id of the notification, cut to what is unique"),),
    ),
    Command("notifications read-all", "mark every notification as read", read_all),
)
