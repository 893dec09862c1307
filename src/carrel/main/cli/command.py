"""What a command is made of: its name, summary, options and function; and how commands end."""

from argparse import Namespace
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, Self

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
    # For an argument that names the object of the path: calls a function with the object's id.
    of: Callable[[Client, str, Callable[[str], Any]], Any] | None


class Command(NamedTuple):
    """One row of the command table; a command in a group has a name of two words."""

    name: str
    summary: str
    run: Callable[[Namespace, Screen], int]
    needs_server: bool = True
    options: tuple[Option, ...] = ()

    def takes(self, *options: Option) -> Self:
        """Return the command with its arguments."""
        return self._replace(options=options)


def option(
    flags: str, metavar: str = "", text: str = "", *, field: str | None = None, of: Any = None, **parameters: Any
) -> Option:  # fmt: skip
    """Describe one argument, with its name and text in the help; by default its field has the argument's name."""
    long = max(flags.split(), key=len)
    dest = str(parameters.get("dest") or long.lstrip("-").replace("-", "_"))
    shown = {name: said for name, said in (("metavar", metavar), ("help", text)) if said}
    field = "" if of else dest if field is None else field
    return Option(tuple(flags.split()), {**shown, **parameters}, dest, field, of)
