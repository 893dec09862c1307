"""`search`: find topics, tasks, entries and notes."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import option
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request
from carrel.main.cli.wording import age

# The list in an answer -> what each of its hits is called, and which field of it is shown.
_KINDS = {
    "topics": ("topic", "name"),
    "tasks": ("task", "title"),
    "notes": ("note", "content"),
    "logs": ("entry", "content"),
}


def _search(client: Client, args: Namespace) -> Any:
    where = {"topicId": args.topic, "sessionKey": args.session, "spaceId": args.space}
    limits = {f"limit{kind}": args.limit for kind in ("Topics", "Tasks", "Logs", "Notes")}
    return client.get("/api/search", {"q": args.query, **where, **limits})


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    """Print the hits of all kinds, best first."""
    rows = [
        (kind, f"{hit['score']:.2f}", hit["id"], age(hit["createdAt"]), first_line(hit[shown]))
        for name, (kind, shown) in _KINDS.items()
        for hit in answer[name]
    ]
    rows.sort(key=lambda row: -float(row[1]))
    screen.table(("KIND", "SCORE", "ID", "AGE", "TEXT"), rows, empty="Nothing was found.", whole_ids=True)


COMMANDS = (
    Request("search", "find topics, tasks, entries and notes", _search, _show).takes(
        option("query", "WORDS", "what to look for"),
        option("--topic", "TOPIC", "only in this topic"),
        option("--session", "SESSION", "look from this session, in the spaces that it sees"),
        option("--space", "SPACE", "look from this space"),
        option("--limit", "N", "results of each kind (default: 10)", type=int, default=10),
    ),
)
