"""What a command is made of: its name, summary, options, examples and function; and how commands end."""

import sys
from argparse import Namespace
from collections.abc import Callable, Collection
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from carrel.bridge import Client
from carrel.main.cli.output import Screen


class Exit(IntEnum):
    """Exit codes; scripts rely on them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_REACHABLE = 3
    NOT_ALLOWED = 4
    TIMED_OUT = 5
    INTERRUPTED = 130


class Failure(Exception):
    """A command cannot continue: the exit code, and a sentence that says what to do."""

    def __init__(self, exit_code: Exit, sentence: str, *, code: str = "") -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        # The server's error code, if it gave one.
        self.code = code


class Option(NamedTuple):
    """One argument of a command in argparse's terms, and the field of a request that it fills."""

    flags: tuple[str, ...]
    parameters: dict[str, Any]
    # Its name among the parsed arguments.
    dest: str
    # Empty for one that is not sent.
    field: str
    # For an argument that names an object: calls a function with the object's id.
    of: Callable[[Client, str, Callable[[str], Any]], Any] | None

    @property
    def shown(self) -> str:
        """The argument as a usage line shows it."""
        name = str(self.parameters.get("metavar") or "|".join(self.parameters.get("choices") or [self.flags[-1]]))
        return {"?": f"[{name}]", "+": f"{name}…", "*": f"[{name}…]"}.get(str(self.parameters.get("nargs")), name)


def option(
    flags: str, metavar: str = "", text: str = "", *, field: str | None = None, of: Any = None, **parameters: Any
) -> Option:  # fmt: skip
    """Describe one argument, with its name and text in the help; by default its field has the argument's name."""
    long = max(flags.split(), key=len)
    dest = str(parameters.get("dest") or long.lstrip("-").replace("-", "_"))
    shown = {name: said for name, said in (("metavar", metavar), ("help", text)) if said}
    return Option(tuple(flags.split()), {**shown, **parameters}, dest, dest if field is None else field, of)


def _typed(text: str) -> str:
    return sys.stdin.read().rstrip("\n") if text == "-" else text


LOCAL_OPTIONS = (
    option("--config", "FILE", "settings file (default: ./carrel.toml, else the data directory's)", type=Path),
    option("--data-dir", "DIR", "local data directory"),
)
JSON = option("--json", "", "print the answer as JSON", action="store_true")
SERVER_OPTIONS = (
    option("--url", "", "server address (default: CARREL_URL, or the local server)"),
    option("--token", "", "token (default: CARREL_TOKEN, or the local owner's)"),
    JSON,
    *LOCAL_OPTIONS,
)
YES = option("--yes -y", "", "without being asked", action="store_true", field="")
LIMIT = option("--limit", "N", type=int, default=50)
MESSAGE = option("text", "TEXT", "the message; - reads it from stdin", type=_typed, field="content")


class Command(NamedTuple):
    """One row of the command table; a command in a group has a name of two words."""

    name: str
    # Empty for one that no help lists.
    summary: str
    # Returns the exit code; None is 0.
    run: Callable[[Namespace, Screen], int | None]
    options: tuple[Option, ...]
    # What follows the name; or a whole line, if the name is not at its start.
    examples: tuple[str, ...]
    # The options that it shares with other commands.
    common: tuple[Option, ...]

    @property
    def needs_nothing(self) -> bool:
        """Whether it can be run without arguments."""
        return all(one.flags[0].startswith("-") or one.parameters.get("nargs") == "?" for one in self.options)


def command(
    name: str, summary: str, run: Callable[[Namespace, Screen], int | None], *options: Option,
    examples: tuple[str, ...] = (), common: tuple[Option, ...] = SERVER_OPTIONS,
) -> Command:  # fmt: skip
    """Describe a command; by default it needs a server."""
    return Command(name, summary, run, options, examples, common)


def only(found: Collection[str], name: str, words: str) -> str:
    """Return the only one of several names that were found."""
    if len(found) > 1:
        some = ", ".join(sorted(found)[:5])
        raise Failure(Exit.USAGE, f"'{name}' is the beginning of {len(found)} {words} ({some}); write more of it.")
    return next(iter(found))


def unknown(word: str, name: str, meant: str, where: str) -> Failure:
    """Return the failure for a name that means nothing, with what was probably meant or where to look."""
    hint = f"did you mean {meant}?" if meant else where
    return Failure(Exit.FAILED, f"There is no {word} '{name}', or you may not see it; {hint}", code="not_found")
