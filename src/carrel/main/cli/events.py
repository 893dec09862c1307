"""`events`: print the feed, stored and live."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client, StreamEvent
from carrel.main.cli.command import Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, json_text

# Stored events arrive at once; after a pause this long, no more of them match the filters.
_IDLE_SECONDS = 2.0
# How many of the newest events are shown where the feed is too long to be shown from its start.
_SHOWN = 200


def events(args: Namespace, screen: Screen) -> None:
    """Show events after a number up to the newest, and with --follow new ones too; JSON is one object per line."""
    with connect(args) as client:
        after = args.after if args.after is not None else (None if args.follow else 0)
        reset = _print(client, args, after, screen)
        if reset and args.after is None:
            # The feed is longer than what can be read at once.
            reset = _print(client, args, max(0, int(reset["seq"]) - _SHOWN), screen)
    if reset:
        raise Failure(Exit.FAILED, _why_reset(reset))


def _print(client: Client, args: Namespace, after: int | None, screen: Screen) -> dict[str, Any] | None:
    """Print the feed; return the event which says that it cannot be read from this number."""
    query = {"sessionKey": args.session, "events": args.name}
    idle, last, newest = None if args.follow else _IDLE_SECONDS, "" if after is None else str(after), None
    for event in client.stream("/api/stream", query, last_event_id=last, idle_seconds=idle):
        if event.name == "stream.ready":
            newest = newest or event.body["seq"]
        elif event.name == "stream.reset" and not args.follow:
            found: dict[str, Any] = event.body
            return found
        else:
            _show(event, screen)
        seq = int(event.id) if event.id.isdigit() else after or 0
        if not args.follow and newest is not None and seq >= newest:
            break
    return None


def _show(event: StreamEvent, screen: Screen) -> None:
    if screen.as_json:
        # One line each even on a terminal: programs follow this output.
        screen.line(json_text(event.body))
    elif event.name == "stream.reset":
        screen.note(f"{_why_reset(event.body)} Continuing from there.")
    else:
        body: dict[str, Any] = event.body
        subject = body.get("runId") or body.get("taskId") or body.get("topicId") or ""
        parts = (event.id, body.get("at") or "", event.name, body.get("sessionKey") or "", subject)
        screen.line(("  " if screen.is_terminal else "\t").join(str(part) for part in parts).rstrip())
    screen.out.flush()


def _why_reset(body: dict[str, Any]) -> str:
    reason = {
        "overflow": "Too many events to replay at once; start later with --after",
        "pruned": "Events that old are no longer kept; start later with --after",
        "ahead": "The feed has not reached that number yet; start earlier with --after",
    }.get(str(body.get("reason")), "The feed has restarted; choose a number with --after")
    return f"{reason} (the newest is {body.get('seq')})."


COMMANDS = (
    command(
        "events", "show the event feed", events,
        option("--after", "N", "only events after this number", type=int),
        option("--follow -f", "", "keep printing new events", action="store_true"),
        option("--session", "SESSION", "only events of this session"),
        option("--name", "NAMES", "only these names or prefixes, comma-separated"),
        examples=("--name run,task --follow", "--after 120 --json"),
    ),
)  # fmt: skip
