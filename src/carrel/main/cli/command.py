"""What a command of the command line is: a name, a promise, its options and what it does."""

from argparse import Namespace
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from carrel.main.cli.output import Screen


class Exit(IntEnum):
    """How a command ends; scripts rely on these numbers."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_REACHABLE = 3
    NOT_ALLOWED = 4
    TIMED_OUT = 5
    INTERRUPTED = 130


class Failure(Exception):
    """A command that cannot go on, with the number to end with and a sentence that says what to do."""

    def __init__(self, exit_code: Exit, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class Option(NamedTuple):
    """One argument of a command, as argparse takes it."""

    flags: tuple[str, ...]
    how: dict[str, Any]


class Command(NamedTuple):
    """One line of the table of commands; the name of a command in a group has two words."""

    name: str
    promise: str
    run: Callable[[Namespace, Screen], int]
    options: tuple[Option, ...] = ()
    asks_server: bool = True


def option(*flags: str, **how: Any) -> Option:
    """Describe one argument."""
    return Option(flags, how)
