"""`events`: the feed as it was and as it comes."""

import json
from argparse import Namespace
from typing import Any

from carrel.bridge import StreamEvent
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen

# Stored events come at once; when they stop coming for this long there are no more that pass the filters.
_IDLE_SECONDS = 2.0


def events(args: Namespace, screen: Screen) -> int:
    """Show events after a number, and with --follow those that come; JSON is one object per line."""
    query = {"sessionKey": args.session, "events": args.name}
    after = args.after if args.after is not None else (None if args.follow else 0)
    idle = None if args.follow else _IDLE_SECONDS
    newest = None
    with reach(args) as client:
        for event in client.stream(
            "/api/stream", query, last_event_id="" if after is None else str(after), idle_seconds=idle
        ):
            if event.name == "stream.ready":
                newest = newest or event.body["seq"]
            elif event.name == "stream.reset" and not args.follow:
                raise Failure(Exit.FAILED, _why_reset(event.body))
            else:
                _show(event, screen)
            if not args.follow and newest is not None and _seq(event, after) >= newest:
                break
    return Exit.OK


def _seq(event: StreamEvent, after: int | None) -> int:
    return int(event.id) if event.id.isdigit() else after or 0


def _show(event: StreamEvent, screen: Screen) -> None:
    if screen.as_json:
        # One line each even on a terminal: this is what programs follow.
        screen.line(_compact(event.body))
    elif event.name == "stream.reset":
        screen.note(f"{_why_reset(event.body)} Going on from there.")
    else:
        body: dict[str, Any] = event.body
        subject = body.get("runId") or body.get("taskId") or body.get("topicId") or ""
        parts = (event.id, body.get("at") or "", event.name, body.get("sessionKey") or "", subject)
        screen.line(("  " if screen.is_terminal else "\t").join(str(part) for part in parts).rstrip())
    screen.out.flush()


def _why_reset(body: dict[str, Any]) -> str:
    """Return why the feed cannot be shown from where it was asked for."""
    reason = {
        "overflow": "There are more events than are replayed at once; begin later, with --after",
        "pruned": "Events from so long ago are no longer kept; begin later, with --after",
        "ahead": "The feed has not come so far yet; begin earlier, with --after",
    }.get(str(body.get("reason")), "The feed begins anew; look with --after")
    return f"{reason} (the newest is {body.get('seq')})."


def _compact(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)


COMMANDS = (
    Command(
        "events",
        "show what has changed",
        events,
        (
            option("--after", type=int, metavar="N", help="events after this number"),
            option("--follow", "-f", action="store_true", help="go on with those that come"),
            option("--session", metavar="KEY", help="only of this session"),
            option("--name", metavar="NAMES", help="only these names or prefixes, comma separated"),
        ),
    ),
)
