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
        target = {} if args.target is None else target_of(session_key(client, args.target))
        name = args.target or ""
        accepted = of_agent(client, agent_in(name), lambda: client.post("/api/runs", target | {"message": text}))
        if args.wait is None:
            return _show_accepted(accepted, screen)
        return wait_and_show(client, accepted["runId"], screen, seconds=args.wait)


def target_of(words: str) -> dict[str, str]:
    """Return the request field for a target: an agent or a session."""
    return {"sessionKey": words} if is_session(words) else {"agentId": words}


def agent_in(words: str) -> str:
    """Return the agent that a target names, also as part of a session key."""
    parts = words.split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else words


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
