"""`send`: send one message to an agent or a session, and optionally wait for the reply."""

import sys
from argparse import Namespace

from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen
from carrel.main.cli.run_results import wait_and_show, wait_option

WAIT_SECONDS = 60.0


def send(args: Namespace, screen: Screen) -> int:
    """Queue a message; with --wait, print the reply."""
    text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
    if not text.strip():
        raise Failure(Exit.USAGE, "Nothing to send; pass a text, or - to read it from stdin.")
    with connect(args) as client:
        accepted = client.post("/api/runs", _target(args.target) | {"message": text})
        if args.wait is None:
            return _show_accepted(accepted, screen)
        return wait_and_show(client, accepted["runId"], screen, seconds=args.wait)


def _target(words: str | None) -> dict[str, str]:
    """Return the request field for a target; without one the message goes to the default agent."""
    return {} if words is None else target_of(words)


def target_of(words: str) -> dict[str, str]:
    """Return the request field for a target: an agent or a session."""
    return {"sessionKey": words} if is_session(words) else {"agentId": words}


def is_session(words: str) -> bool:
    """Tell whether a target is a session: an agent's id has no colon and is not a session id."""
    return ":" in words or words.startswith(("ses_", "node-"))


def _show_accepted(accepted: dict[str, str], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(accepted)
    screen.line(accepted["runId"])
    if screen.is_terminal:
        screen.note(f"Queued in {accepted.get('sessionKey', '')}. Wait for it: `carrel runs wait {accepted['runId']}`")
    return Exit.OK


COMMANDS = (
    Command(
        "send",
        "send a message to an agent or a session",
        send,
        (
            option(
                "target",
                nargs="?",
                metavar="AGENT|SESSION",
                help="an agent's id or a session key",
            ),
            option("text", metavar="TEXT", help="the message; - reads it from stdin"),
            wait_option(WAIT_SECONDS),
        ),
    ),
)
