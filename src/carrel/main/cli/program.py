"""The table of commands, the parser built from it, and the exit code of every kind of failure."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from carrel import __version__
from carrel.bridge import NotReachable, Refused, TimedOut
from carrel.kernel import Refusal
from carrel.main.cli import (
    a2a,
    accounts,
    board,
    budgets,
    chat,
    completion,
    connect,
    demo,
    doctor,
    events,
    goals,
    imports,
    maintenance,
    mcp,
    mcp_servers,
    memory,
    modes,
    notifications,
    openclaw,
    receipts,
    runs,
    search,
    serve,
    sessions,
    settings,
    tasks,
    usage,
    webhooks,
)
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.discovery import SERVER_OPTIONS, complete_session, uses_owner_token
from carrel.main.cli.examples import EXAMPLES
from carrel.main.cli.output import Screen, json_text
from carrel.main.cli.request import Request
from carrel.main.cli.wording import label_of
from carrel.main.cli.words import HelpText, Parser, arranged
from carrel.main.login_page import RENEW

# In the order of the help.
_MODULES = (
    serve, demo, connect, doctor, chat, tasks, search, sessions, runs, receipts, usage, budgets, events, board, goals,
    memory, modes, notifications, accounts, settings, a2a, mcp, mcp_servers, webhooks, openclaw, imports, maintenance,
)  # fmt: skip
COMMANDS: tuple[Command | Request, ...] = tuple(command for module in _MODULES for command in module.COMMANDS)
GROUPS = {
    "tasks": "create tasks, assign agents and follow their work",
    "sessions": "list, read and manage sessions",
    "runs": "list, inspect, answer and cancel runs",
    "artifacts": "list and download what agents added to their runs",
    "budgets": "bound what agents use, and let work go on",
    "notifications": "read notifications about failed runs and undelivered results",
    "settings": "see what this server is set to",
    "spaces": "divide the board into spaces",
    "topics": "see and create what tasks and messages are about",
    "goals": "set goals for sessions and see how far they are",
    "memory": "keep, find, promote and forget facts",
    "plan": "plan before anything is changed, and run the plan",
    "auto": "let agents work by themselves",
    "schedule": "send messages on a schedule",
    "agents": "list and manage agents",
    "users": "list and manage the people of the account",
    "token": "create, list and revoke tokens",
    "a2a": "talk to any A2A agent",
    "mcp servers": "name MCP servers in the settings, whose tools agents may use",
    "webhooks": "see what other programs post to this server, and repeat it",
    "openclaw": "connect an OpenClaw with this server, and check the pair",
    "import": "import what was said in other programs",
}


def _needs_nothing(command: Command | Request) -> bool:
    """Return whether a command can be run without arguments."""
    return all(flags[0].startswith("-") or parameters.get("nargs") == "?" for flags, parameters, *_ in command.options)


# Groups whose noun alone lists.
_LISTS = frozenset(
    group for group in GROUPS for command in COMMANDS if command.name == f"{group} list" and _needs_nothing(command)
)


def _verbs() -> dict[str, set[str]]:
    """Return the verbs of every noun; a command of one word has none."""
    verbs: dict[str, set[str]] = {"completion": set()}
    for command in COMMANDS:
        group, _, verb = command.name.rpartition(" ")
        verbs.setdefault(group or verb, set()).update([verb] if group else [])
    return verbs


VERBS = _verbs()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show becomes a question mark instead of an error.
            stream.reconfigure(errors="replace")
    screen = Screen(as_json="--json" in words)
    args = argparse.Namespace()
    try:
        args = parser().parse_args(arranged(words, lists=_LISTS, verbs=VERBS))
        complete_session(args)
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
        code, sentence = _ending(fault, args)
        if screen.as_json:
            error = getattr(fault, "code", "") or Exit(code).name.lower()
            screen.err.write(json_text({"error": {"code": error, "message": sentence}}) + "\n")
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
    top.set_defaults(run=_help_of(top))
    commands: Any = top.add_subparsers(title="commands", metavar="COMMAND")
    groups: dict[str, Any] = {}
    for command in (*COMMANDS, *completion.commands(parser)):
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            alone = f"`carrel {group}` alone lists them." if group in _LISTS else ""
            added = commands.add_parser(group, help=GROUPS[group], description=GROUPS[group], epilog=alone)
            added.set_defaults(run=_help_of(added))
            groups[group] = added.add_subparsers(title="commands", metavar="COMMAND")
        _add(groups[group] if group else commands, name, command)
    return top


def _help_of(shown: argparse.ArgumentParser) -> Callable[[argparse.Namespace, Screen], int]:
    """Return a command that shows the help of a parser."""

    def show(_: argparse.Namespace, screen: Screen) -> int:
        screen.out.write(shown.format_help())
        return Exit.OK

    return show


def _add(group: Any, name: str, command: Command | Request) -> None:
    added = group.add_parser(
        name,
        **({"help": command.summary} if command.summary else {}),
        description=command.summary,
        usage=" ".join(["carrel", command.name, "[OPTIONS]", *_positionals(command)]),
        epilog=_examples(command.name),
        formatter_class=HelpText,
    )
    for flags, parameters, *_ in command.options:
        added.add_argument(*flags, **parameters)
    if command.needs_server:
        server = added.add_argument_group("which server, and how the answer is printed")
        for flags, parameters, *_ in SERVER_OPTIONS:
            server.add_argument(*flags, **parameters)
    added.set_defaults(run=command.run, parser=added)


def _positionals(command: Command | Request) -> list[str]:
    """Return the arguments of a command that have no flags, as the usage line shows them."""
    shown = []
    for flags, parameters, *_ in command.options:
        if not flags[0].startswith("-"):
            name = str(parameters.get("metavar") or "|".join(parameters.get("choices") or flags))
            shown.append({"?": f"[{name}]", "+": f"{name}…", "*": f"[{name}…]"}.get(str(parameters.get("nargs")), name))
    return shown


def _examples(name: str) -> str | None:
    lines = EXAMPLES.get(name, ())
    title = "examples:" if len(lines) > 1 else "example:"
    return "\n  ".join([title, *lines]) if lines else None


def _ending(fault: Exception, args: argparse.Namespace) -> tuple[int, str]:
    match fault:
        case Failure():
            return fault.exit_code, str(fault)
        case NotReachable():
            return Exit.NOT_REACHABLE, f"{fault} Start one with `carrel up`, or name another with --url."
        case TimedOut():
            return Exit.TIMED_OUT, str(fault)
        case Refused(status=401) if uses_owner_token(args):
            return Exit.NOT_ALLOWED, f"{fault} {RENEW}"
        case Refused(not_allowed=True) if fault.status == 401 or "token" in str(fault).lower():
            return Exit.NOT_ALLOWED, f"{fault} Use another token: pass it with --token or set CARREL_TOKEN."
        case Refused(not_allowed=True):
            return Exit.NOT_ALLOWED, str(fault)
        case Refused(field=str() as field) if field not in str(fault):
            return Exit.FAILED, f"{_flag(field, args)}: {fault}"
        case _:
            return Exit.FAILED, str(fault)


def _flag(field: str, args: argparse.Namespace) -> str:
    """Return the option with the name of a request's field, if there is one; else the field."""
    flag = f"--{label_of(field).replace(' ', '-')}"
    known = getattr(args, "parser", None)
    return flag if known is not None and flag in known._option_string_actions else field
