"""The table of commands, the parser built from it, and the exit code of every kind of failure."""

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from carrel import __version__
from carrel.bridge import NotReachable, Refused, TimedOut
from carrel.kernel import Refusal
from carrel.main.cli import (
    agents,
    artifacts,
    auto,
    board,
    chat,
    completion,
    connect,
    context,
    doctor,
    events,
    goals,
    imports,
    maintenance,
    memory,
    note,
    notifications,
    plans,
    receipts,
    runs,
    schedules,
    search,
    send,
    serve,
    sessions,
    status,
    tasks,
    tokens,
)
from carrel.main.cli.a2a import commands as a2a
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.discovery import SERVER_OPTIONS
from carrel.main.cli.mcp import commands as mcp
from carrel.main.cli.output import Screen
from carrel.main.cli.words import Parser, arranged

COMMANDS: tuple[Command, ...] = (
    *serve.COMMANDS,
    *connect.COMMANDS,
    *status.COMMANDS,
    *doctor.COMMANDS,
    *chat.COMMANDS,
    *send.COMMANDS,
    *tasks.COMMANDS,
    *search.COMMANDS,
    *sessions.COMMANDS,
    *runs.COMMANDS,
    *receipts.COMMANDS,
    *artifacts.COMMANDS,
    *events.COMMANDS,
    *board.COMMANDS,
    *goals.COMMANDS,
    *memory.COMMANDS,
    *context.COMMANDS,
    *note.COMMANDS,
    *plans.COMMANDS,
    *auto.COMMANDS,
    *schedules.COMMANDS,
    *notifications.COMMANDS,
    *agents.COMMANDS,
    *tokens.COMMANDS,
    *a2a.COMMANDS,
    *mcp.COMMANDS,
    *imports.COMMANDS,
    *maintenance.COMMANDS,
)
GROUPS = {
    "tasks": "create tasks, assign agents and follow their work",
    "sessions": "list, read and manage sessions",
    "runs": "list, inspect, answer and cancel runs",
    "artifacts": "list and download what agents added to their runs",
    "notifications": "read notifications about failed runs and undelivered results",
    "spaces": "divide the board into spaces",
    "topics": "see and create what tasks and messages are about",
    "goals": "set goals for sessions and see how far they are",
    "memory": "keep, find, promote and forget facts",
    "plan": "plan before anything is changed, and run the plan",
    "auto": "let agents work by themselves",
    "schedule": "send messages on a schedule",
    "agents": "list and manage agents",
    "token": "create, list and revoke tokens",
    "a2a": "talk to any A2A agent",
    "import": "import what was said in other programs",
}


# The groups of which a noun alone is a list.
_LISTS = frozenset(group for group in GROUPS if any(command.name == f"{group} list" for command in COMMANDS))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(arranged(sys.argv[1:] if argv is None else argv, lists=_LISTS))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show becomes a question mark instead of an error.
            stream.reconfigure(errors="replace")
    screen = Screen(as_json=getattr(args, "json", False))
    try:
        code = int(args.run(args, screen))
        screen.out.flush()
    except KeyboardInterrupt:
        screen.err.write("\n")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; flushing what is still buffered at exit would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except (Failure, Refusal, NotReachable, Refused, TimedOut) as fault:
        code, sentence = _ending(fault)
        if screen.as_json:
            error = getattr(fault, "code", "") or Exit(code).name.lower()
            screen.err.write(json.dumps({"error": {"code": error, "message": sentence}}, ensure_ascii=False) + "\n")
        else:
            screen.note(sentence)
    return code


def parser() -> argparse.ArgumentParser:
    """Build the parser from the table; completion reads it too."""
    top = Parser(
        prog="carrel",
        description="Carrel runs AI agents in isolated sessions, with a durable queue and a receipt for every run.",
        epilog="Start with `carrel up`, then `carrel chat`. Exit codes: 0 ok, 1 failed, 2 wrong usage, "
        "3 not reachable, 4 not allowed, 5 timed out.",
    )
    top.add_argument("--version", action="version", version=f"carrel {__version__}")
    top.set_defaults(run=_help)
    commands: Any = top.add_subparsers(title="commands", metavar="COMMAND")
    groups: dict[str, Any] = {}
    for command in (*COMMANDS, completion.command(parser)):
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            added = commands.add_parser(group, help=GROUPS[group], description=GROUPS[group])
            groups[group] = added.add_subparsers(title="commands", metavar="COMMAND", required=True)
        _add(groups[group] if group else commands, name, command)
    return top


def _help(_: argparse.Namespace, screen: Screen) -> int:
    screen.out.write(parser().format_help())
    return Exit.OK


def _add(group: Any, name: str, command: Command) -> None:
    added = group.add_parser(name, help=command.summary, description=command.summary)
    for flags, parameters in (*command.options, *(SERVER_OPTIONS if command.needs_server else ())):
        added.add_argument(*flags, **parameters)
    added.set_defaults(run=command.run, parser=added)


def _ending(fault: Exception) -> tuple[int, str]:
    match fault:
        case Failure():
            return fault.exit_code, str(fault)
        case NotReachable():
            return Exit.NOT_REACHABLE, f"{fault} Start one with `carrel up`, or name another with --url."
        case TimedOut():
            return Exit.TIMED_OUT, str(fault)
        case Refused(not_allowed=True):
            return Exit.NOT_ALLOWED, f"{fault} Use another token: pass it with --token or set CARREL_TOKEN."
        case Refused(field=str() as field) if field not in str(fault):
            return Exit.FAILED, f"{field}: {fault}"
        case _:
            return Exit.FAILED, str(fault)
