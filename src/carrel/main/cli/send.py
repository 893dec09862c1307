"""`send`: send one message to an agent or a session, and optionally wait for the reply."""

import sys
from argparse import Namespace

from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import of_agent, session_key
from carrel.main.cli.output import Screen
from carrel.main.cli.run_results import wait_and_show, wait_option

WAIT_SECONDS = 60.0


def send(args: Namespace, screen: Screen) -> int:
    """Queue a message; with --wait, print the reply."""
    text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
    if not text.strip():
        raise Failure(Exit.USAGE, "Nothing to send; pass a text, or - to read it from stdin.")
    with connect(args) as client:
        target = None if args.target is None else session_key(client, args.target)
        sent = of_agent(client, _agent_in(args.target or ""), lambda: client.send(target, text))
        if args.wait is not None:
            return wait_and_show(client, sent.run_id, screen, seconds=args.wait)
    if screen.as_json:
        return screen.json(sent.raw)
    screen.line(sent.run_id)
    if screen.is_terminal:
        screen.note(f"Queued in {sent.session_key}. Wait for it: `carrel runs wait {sent.run_id}`")
    return Exit.OK


def _agent_in(target: str) -> str:
    """Return the agent that a target names, also as part of a session key."""
    parts = target.split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else target


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
