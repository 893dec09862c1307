"""`search`: find topics, tasks, entries and notes."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

# The list in an answer -> what each of its hits is called.
_KINDS = {"topics": "topic", "tasks": "task", "notes": "note", "logs": "entry"}
_TITLES = {"topics": "name", "tasks": "title"}


def search(args: Namespace, screen: Screen) -> int:
    """Find topics, tasks, entries and notes, best first."""
    query = {
        "q": args.query,
        "topicId": args.topic,
        "sessionKey": args.session,
        "spaceId": args.space,
        "limitTopics": args.limit,
        "limitTasks": args.limit,
        "limitLogs": args.limit,
        "limitNotes": args.limit,
    }
    with connect(args) as client:
        answer = client.get("/api/search", query)
    if screen.as_json:
        return screen.json(answer)
    rows = sorted(_rows(answer), key=lambda row: -float(row[1]))
    screen.table(("KIND", "SCORE", "ID", "AGE", "TEXT"), rows, empty="Nothing was found.", whole_ids=True)
    return Exit.OK


def _rows(answer: dict[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    for name, kind in _KINDS.items():
        for hit in answer[name]:
            text = first_line(hit[_TITLES.get(name, "content")])
            yield kind, f"{hit['score']:.2f}", hit["id"], age(hit["createdAt"]), text


COMMANDS = (
    Command(
        "search",
        "find topics, tasks, entries and notes",
        search,
        (
            option("query", metavar="WORDS", help="what to look for"),
            option("--topic", metavar="TOPIC", help="only in this topic"),
            option("--session", metavar="SESSION", help="look from this session, in the spaces that it sees"),
            option("--space", metavar="SPACE", help="look from this space"),
            option("--limit", type=int, default=10, metavar="N", help="results of each kind (default: 10)"),
        ),
    ),
)
