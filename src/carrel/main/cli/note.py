"""`note`: what is worth remembering about a topic, a task or an entry."""

from argparse import Namespace

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import NOTES, by_id
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age


def note(args: Namespace, screen: Screen) -> int:
    """Write a note; without a text, list notes."""
    where = {"topicId": args.topic, "taskId": args.task, "spaceId": args.space, "relatedLogId": args.about}
    given = {name: value for name, value in where.items() if value is not None}
    if args.text is None:
        return _list(args, screen, given)
    with connect(args) as client:
        body = {"content": args.text, **given}
        about = args.about or ""
        answer = by_id(client, NOTES, about, lambda entry: client.post("/api/notes", body | _about(entry)))
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["log"]["id"])
    return Exit.OK


def _about(entry: str) -> dict[str, str]:
    return {"relatedLogId": entry} if entry else {}


def _list(args: Namespace, screen: Screen, given: dict[str, str]) -> int:
    with connect(args) as client:
        answer = client.get("/api/notes", {**given, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [(log["id"], log["topicId"], log["taskId"], age(log["createdAt"]), first_line(log["content"]))
            for log in answer["logs"]]  # fmt: skip
    screen.table(("NOTE", "TOPIC", "TASK", "AGE", "TEXT"), rows, empty="No notes yet. To write one: `carrel note TEXT`")
    return Exit.OK


COMMANDS = (
    Command(
        "note",
        "write a note, or list notes",
        note,
        (
            option("text", nargs="?", metavar="TEXT", help="what to note; without it notes are listed"),
            option("--about", metavar="ENTRY", help="id of the entry that the note is about"),
            option("--topic", metavar="TOPIC", help="id of the topic that it belongs to"),
            option("--task", metavar="TASK", help="id of the task that it belongs to"),
            option("--space", metavar="SPACE", help="id of the space that it belongs to"),
            option("--limit", type=int, default=50, metavar="N", help="how many notes are listed (default: 50)"),
        ),
    ),
)
