"""What is started: a command from the settings, with the values of the variables that they name."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Variables that every program gets: where things are, and who runs it. None is secret.
_PASSED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


class ProgramFault(Exception):
    """A program, or a server, cannot be used; the message says why, for people and models."""


class Program(NamedTuple):
    """What to start."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None


def missing_variable(names: Iterable[str], env: Mapping[str, str]) -> str | None:
    """Return the first of the named variables that is not set, if any."""
    return next((name for name in names if not env.get(name)), None)


def program_of(
    command: str, args: tuple[str, ...], names: Iterable[str], env: Mapping[str, str], cwd: str | None
) -> Program:  # fmt: skip
    """Return a command with the variables that every program gets, and the named ones."""
    usual = {name: env[name] for name in _PASSED if name in env}
    return Program(command, args, usual | {name: env[name] for name in names}, cwd)
