"""What a command is made of: its name, summary, options and function; and how commands end."""

from argparse import Namespace
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

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
        # The server's word for it, where it has one.
        self.code = code


class Option(NamedTuple):
    """One argument of a command, in argparse's terms."""

    flags: tuple[str, ...]
    parameters: dict[str, Any]


class Command(NamedTuple):
    """One row of the command table; a command in a group has a name of two words."""

    name: str
    summary: str
    run: Callable[[Namespace, Screen], int]
    options: tuple[Option, ...] = ()
    needs_server: bool = True


def option(*flags: str, **parameters: Any) -> Option:
    """Describe one argument."""
    return Option(flags, parameters)
