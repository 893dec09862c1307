"""`context`: what an agent is shown of a session before a message, and why."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen

# Those of the API; importing them from there would load the server.
MODES = ("auto", "cheap", "full", "patient")


def context(args: Namespace, screen: Screen) -> int:
    """Show the context block of a session; with --explain, where each line comes from and why it is there."""
    query = {"sessionKey": args.session, "q": args.question, "mode": args.mode, "maxChars": args.max_chars}
    with connect(args) as client:
        answer = client.get("/api/context", {name: value for name, value in query.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    for line in answer["block"].splitlines():
        screen.line(line)
    if args.explain:
        _explain(answer["data"], screen, chars=len(answer["block"]))
    return Exit.OK


def _explain(data: dict[str, Any], screen: Screen, *, chars: int) -> None:
    scope = data["scope"]
    allowed = ", ".join(scope["allowedSpaceIds"] or []) if scope["allowedSpaceIds"] is not None else "all in view"
    found = (
        f"from {scope['sourceSpaceId']}, by {scope['resolvedFrom']}" if scope["sourceSpaceId"] else "no source space"
    )
    screen.line()
    screen.facts(
        [
            ("characters", chars),
            ("spaces", f"{allowed} ({found})"),
            ("left out", ", ".join(f"{count} of {name}" for name, count in data["omitted"].items()) or "nothing"),
            ("missing", data.get("degraded") or "nothing"),
        ]
    )
    screen.line()
    rows = [
        (item["section"].rstrip(":"), item["kind"], item["id"], item["scope"], _score(item), item["reason"])
        for item in data["items"]
    ]
    screen.table(("SECTION", "KIND", "ID", "SCOPE", "SCORE", "REASON"), rows, empty="Nothing is shown.", whole_ids=True)


def _score(item: dict[str, Any]) -> str:
    return f"{item['score']:.2f}" if "score" in item else ""


COMMANDS = (
    Command(
        "context",
        "show what an agent is shown before a message, and why",
        context,
        (
            option("session", metavar="SESSION", help="session key, or any name that a program gives its session"),
            option("-q", dest="question", metavar="TEXT", help="the message that the context is for"),
            option("--mode", choices=MODES, help="how far it looks (default: auto)"),
            option("--max-chars", type=int, metavar="N", help="characters of the block, at most"),
            option("--explain", action="store_true", help="say of each line where it comes from and why it is there"),
        ),
    ),
)
