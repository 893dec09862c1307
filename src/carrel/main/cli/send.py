"""`send`: say one thing to an agent or a session, and wait for the answer if asked to."""

import sys
from argparse import Namespace

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen
from carrel.main.cli.wait import tell, wait_for

WAIT_SECONDS = 60.0


def send(args: Namespace, screen: Screen) -> int:
    """Put a message into a lane; with --wait the answer comes on stdout."""
    text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
    if not text.strip():
        raise Failure(Exit.USAGE, "There is nothing to send; give a text, or - and the text on stdin.")
    with reach(args) as client:
        accepted = client.post("/api/runs", target_of(args.target) | {"message": text})
        if args.wait is None:
            return _tell_accepted(accepted, screen)
        return _await(client, accepted["runId"], args.wait, screen)


def target_of(words: str) -> dict[str, str]:
    """Tell an agent from a session: an agent's id has no colon and is no session id."""
    is_session = ":" in words or words.startswith(("ses_", "node-"))
    return {"sessionKey": words} if is_session else {"agentId": words}


def _tell_accepted(accepted: dict[str, str], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(accepted)
    screen.line(accepted["runId"])
    if screen.is_terminal:
        screen.note(f"Accepted in {accepted.get('sessionKey', '')}; `carrel runs wait {accepted['runId']}` waits.")
    return Exit.OK


def _await(client: Client, run_id: str, seconds: float, screen: Screen) -> int:
    run = wait_for(client, run_id, screen, seconds=seconds)
    if screen.as_json:
        screen.json({"run": run})
    return tell(run, screen, with_reply=not screen.as_json)


COMMANDS = (
    Command(
        "send",
        "say something to an agent or a session",
        send,
        (
            option("target", metavar="AGENT|SESSION", help="an agent's id, or a session key"),
            option("text", metavar="TEXT", help="what to say; - reads it from stdin"),
            option(
                "--wait",
                type=float,
                nargs="?",
                const=WAIT_SECONDS,
                metavar="S",
                help=f"wait so many seconds for the answer ({WAIT_SECONDS:g})",
            ),
        ),
    ),
)
