"""The table of commands, the parser made from it, and how every kind of failure ends."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from carrel import __version__
from carrel.bridge import NotReachable, Refused, TimedOut
from carrel.kernel import Refusal
from carrel.main.cli import (
    agents,
    chat,
    completion,
    doctor,
    events,
    maintenance,
    notifications,
    receipts,
    runs,
    schedules,
    send,
    serve,
    sessions,
    status,
    tokens,
)
from carrel.main.cli.a2a import command as a2a
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.connection import SERVER_OPTIONS
from carrel.main.cli.mcp import command as mcp
from carrel.main.cli.output import Screen

COMMANDS: tuple[Command, ...] = (
    *serve.COMMANDS,
    *status.COMMANDS,
    *doctor.COMMANDS,
    *chat.COMMANDS,
    *send.COMMANDS,
    *sessions.COMMANDS,
    *runs.COMMANDS,
    *receipts.COMMANDS,
    *events.COMMANDS,
    *schedules.COMMANDS,
    *notifications.COMMANDS,
    *agents.COMMANDS,
    *tokens.COMMANDS,
    *a2a.COMMANDS,
    *mcp.COMMANDS,
    *maintenance.COMMANDS,
)
GROUPS = {
    "sessions": "the lanes agents work in",
    "runs": "what was said to agents, and what came of it",
    "notifications": "what you were told of: runs that failed, results that did not arrive",
    "schedule": "what is said to sessions again and again",
    "agents": "the agents of the account",
    "token": "who may speak to the server",
    "a2a": "speak to A2A agents, ours or others'",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the number to end with."""
    args = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows a question mark; that is no reason to fail.
            stream.reconfigure(errors="replace")
    screen = Screen(as_json=getattr(args, "json", False))
    try:
        code = int(args.run(args, screen))
        screen.out.flush()
    except KeyboardInterrupt:
        screen.err.write("\n")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered must not be written at exit, or Python complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except (Failure, Refusal, NotReachable, Refused, TimedOut) as fault:
        code, sentence = _ending(fault)
        screen.note(sentence)
    return code


def parser() -> argparse.ArgumentParser:
    """Make the parser from the table; completion and documentation read it too."""
    top = argparse.ArgumentParser(
        prog="carrel",
        description="Carrel gives every AI agent a desk of its own for every piece of work.",
        epilog="Begin with `carrel up`, then `carrel chat`. Exit codes: 0 ok, 1 failed, 2 wrong usage, "
        "3 not reachable, 4 not allowed, 5 timed out.",
    )
    top.add_argument("--version", action="version", version=f"carrel {__version__}")
    top.set_defaults(run=_help)
    families: Any = top.add_subparsers(title="commands", metavar="COMMAND")
    groups: dict[str, Any] = {}
    for command in (*COMMANDS, completion.command(parser)):
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            made = families.add_parser(group, help=GROUPS[group], description=GROUPS[group])
            groups[group] = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
        _add(groups[group] if group else families, name, command)
    return top


def _help(_: argparse.Namespace, screen: Screen) -> int:
    screen.out.write(parser().format_help())
    return Exit.OK


def _add(family: Any, name: str, command: Command) -> None:
    made = family.add_parser(name, help=command.promise, description=command.promise)
    for flags, how in (*command.options, *(SERVER_OPTIONS if command.asks_server else ())):
        made.add_argument(*flags, **how)
    made.set_defaults(run=command.run)


def _ending(fault: Exception) -> tuple[int, str]:
    match fault:
        case Failure():
            return fault.exit_code, str(fault)
        case NotReachable():
            return Exit.NOT_REACHABLE, f"{fault} Start one with `carrel up`, or name another with --url."
        case TimedOut():
            return Exit.TIMED_OUT, str(fault)
        case Refused(not_allowed=True):
            return Exit.NOT_ALLOWED, f"{fault} Give a token that may with --token or CARREL_TOKEN."
        case Refused(field=str() as field) if field not in str(fault):
            return Exit.FAILED, f"{field}: {fault}"
        case _:
            return Exit.FAILED, str(fault)
