"""Commands as values: the parsed message, its context, and the result."""

from collections.abc import Callable

from msgspec import Struct

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import Settings
from carrel.runs import Rules
from carrel.sessions import Lane
from carrel.storage import Tx

# How many items a command lists.
LISTED_MAX = 20


class ParsedCommand(Struct, frozen=True):
    """A command: its name without the slash, the words after it, and the remaining lines of the message."""

    name: str
    words: tuple[str, ...]
    more: str = ""


class CommandContext(Struct, frozen=True, kw_only=True):
    """Where a command was sent: the session it acts on, and the transport whose active session that is."""

    lane: Lane
    settings: Settings
    rules: Rules
    channel: str
    # The chat, browser or terminal it was sent from: where the reply goes, and nothing else.
    client_instance_id: str | None = None
    # The chat of a channel that it was sent from, whose members share the sessions held there.
    chat_address: str | None = None
    # The goal that the message is about.
    goal_id: str | None = None


class CommandResult(Struct, frozen=True, kw_only=True):
    """The reply to a command, and the session that is active after it."""

    command: str
    reply: str
    key: SessionKey


# Runs a command; returns the reply, and the session that is active after it if that changes.
Act = Callable[[Tx, Access, CommandContext, ParsedCommand], "str | tuple[str, SessionKey]"]


class Command(Struct, frozen=True):
    """One row of the table of commands."""

    usage: str
    effect: str
    act: Act
    # Locks what the command changes if that is locked before lanes: a plan.
    lock: Callable[[Tx, Access, SessionKey, ParsedCommand], None] | None = None
    owner_only: bool = False
    # The message may contain nothing else.
    alone: bool = False


def listed(lines: list[str]) -> str:
    """Return the lines of a list, of which one more than are shown may have been read."""
    return "\n".join([*lines[:LISTED_MAX], *(["… and more."] if len(lines) > LISTED_MAX else [])])
