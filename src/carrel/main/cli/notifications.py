"""`notifications`: what you were told of."""

from argparse import Namespace

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen, age, safe


def list_notifications(args: Namespace, screen: Screen) -> int:
    """Show what you were told of, the newest first."""
    with reach(args) as client:
        answer = client.get("/api/notifications", {"unread": "1" if args.unread else None, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (told["id"], "read" if told["readAt"] else "new", age(told["createdAt"]), told["runId"], told["title"])
        for told in answer["notifications"]
    ]
    screen.table(("NOTIFICATION", "MARK", "AGE", "RUN", "TITLE"), rows, empty="No notifications.")
    return Exit.OK


def read(args: Namespace, screen: Screen) -> int:
    """Show one and mark it as read."""
    with reach(args) as client:
        answer = client.post(f"/api/notifications/{segment(args.notification_id)}/read")
    if screen.as_json:
        return screen.json(answer)
    told = dict(answer["notification"])
    title, body = told.pop("title"), told.pop("body")
    screen.out.write(screen.paint("bold", safe(title)) + "\n")
    screen.line(body)
    screen.line()
    screen.facts(list(told.items()))
    return Exit.OK


def read_all(args: Namespace, screen: Screen) -> int:
    """Mark all as read."""
    with reach(args) as client:
        answer = client.post("/api/notifications/read-all")
    if screen.as_json:
        return screen.json(answer)
    screen.line(f"{answer['read']} marked as read.")
    return Exit.OK


COMMANDS = (
    Command(
        "notifications list",
        "show what you were told of",
        list_notifications,
        (
            option("--unread", action="store_true", help="only what is not read yet"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command(
        "notifications read",
        "show one and mark it as read",
        read,
        (option("notification_id", metavar="NOTIFICATION", help="id of the notification"),),
    ),
    Command("notifications read-all", "mark all as read", read_all),
)
