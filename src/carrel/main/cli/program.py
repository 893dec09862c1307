"""The table of commands, the parser built from it, and the exit code of every kind of failure."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from carrel import __version__
from carrel.bridge import BridgeFault, NotReachable, Refused, TimedOut
from carrel.kernel import Refusal
from carrel.main.cli import (
    a2a,
    accounts,
    automation,
    board,
    budgets,
    chat,
    completion,
    connect,
    doctor,
    events,
    imports,
    mcp,
    mcp_servers,
    memory,
    openclaw,
    operation,
    receipts,
    runs,
    server,
    sessions,
    tasks,
)  # fmt: skip
from carrel.main.cli.arguments import HelpText, Parser, normalized
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.discovery import complete_session, uses_owner_token
from carrel.main.cli.humanize import label_of
from carrel.main.cli.output import Screen, json_text
from carrel.main.login_page import RENEW

# In the order of the help.
_MODULES = (
    server, connect, doctor, chat, tasks, sessions, runs, receipts, budgets, events, board, memory, automation,
    operation, accounts, a2a, mcp, mcp_servers, openclaw, imports,
)  # fmt: skip
COMMANDS: tuple[Command, ...] = (*(one for module in _MODULES for one in module.COMMANDS), *server.MAINTENANCE)
RESOURCES = tuple(one for module in _MODULES for one in getattr(module, "RESOURCES", ()))
_GROUPS = {
    "artifacts": "list and download what agents added to their runs",
    "classifier": "see and repeat how entries are sorted into topics",
    "models": "see the connected models",
    "a2a": "talk to any A2A agent",
    "mcp servers": "name MCP servers in the settings, whose tools agents may use",
    "openclaw": "connect an OpenClaw with this server, and check the pair",
    "import": "import what was said in other programs",
    **{one.noun: one.summary for one in RESOURCES if one.summary},
}
# Groups whose noun alone lists.
LISTS = frozenset(command.name.removesuffix(" list") for command in COMMANDS
                  if command.name.endswith(" list") and command.needs_nothing)  # fmt: skip


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
        args = parser().parse_args(normalized(words, VERBS, LISTS))
        complete_session(args)
        code = int(args.run(args, screen) or Exit.OK)
        screen.out.flush()
    except KeyboardInterrupt:
        screen.err.write("\n")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; flushing what is still buffered at exit would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except (BridgeFault, Failure, Refusal) as fault:
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
    top.set_defaults(run=partial(_show_help, top))
    commands: Any = top.add_subparsers(title="commands", metavar="COMMAND")
    groups: dict[str, Any] = {}
    for command in (*COMMANDS, *completion.commands(parser, RESOURCES)):
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            alone = f"`carrel {group}` alone lists them." if group in LISTS else ""
            added = commands.add_parser(group, help=_GROUPS[group], description=_GROUPS[group], epilog=alone)
            added.set_defaults(run=partial(_show_help, added))
            groups[group] = added.add_subparsers(title="commands", metavar="COMMAND")
        _add(groups[group] if group else commands, name, command)
    return top


def _show_help(shown: argparse.ArgumentParser, _: argparse.Namespace, screen: Screen) -> None:
    screen.out.write(shown.format_help())


def _add(group: Any, name: str, command: Command) -> None:
    examples = examples_of(command)
    positionals = [one.shown for one in command.options if not one.flags[0].startswith("-")]
    added = group.add_parser(
        name,
        **({"help": command.summary} if command.summary else {}),
        description=command.summary,
        usage=" ".join(["carrel", command.name, "[OPTIONS]", *positionals]),
        epilog="\n  ".join([f"example{'s' * (len(examples) > 1)}:", *examples]) if examples else None,
        formatter_class=HelpText,
    )
    server = added.add_argument_group("which server, and how the answer is printed")
    for options, target in ((command.options, added), (command.common, server)):
        for one in options:
            target.add_argument(*one.flags, **one.parameters)
    added.set_defaults(run=command.run, parser=added)


def examples_of(command: Command) -> list[str]:
    """Return the command lines that the help of a command shows."""
    typed = f"carrel {command.name.removesuffix(' list')}"
    return [one if "carrel " in one else f"{typed} {one}".rstrip() for one in command.examples]


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
            # The option with the name of the field, if there is one.
            flag, parser = f"--{label_of(field).replace(' ', '-')}", getattr(args, "parser", None)
            known = () if parser is None else parser._option_string_actions
            return Exit.FAILED, f"{flag if flag in known else field}: {fault}"
        case _:
            return Exit.FAILED, str(fault)
