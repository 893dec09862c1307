"""Commands as values: what was typed, where, and what came of it."""

from collections.abc import Callable

from msgspec import Struct

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import SessionsSettings
from carrel.sessions import Lane
from carrel.storage import Tx


class Typed(Struct, frozen=True):
    """A command line: its name without the slash, the words behind it on its line, and what else the message holds."""

    name: str
    words: tuple[str, ...]
    more: str = ""


class Scene(Struct, frozen=True, kw_only=True):
    """Where a command was typed: the session it acts on, and the transport that has it in front."""

    lane: Lane
    settings: SessionsSettings
    channel: str
    client_instance_id: str | None = None


class Done(Struct, frozen=True, kw_only=True):
    """What a command did, in words, and the session that is active after it."""

    command: str
    reply: str
    key: SessionKey


# What a command does: the reply, and the session that is active after it when that is another one.
Act = Callable[[Tx, Access, Scene, Typed], "str | tuple[str, SessionKey]"]


class Command(Struct, frozen=True, kw_only=True):
    """One line of the table of commands."""

    usage: str
    effect: str
    act: Act
    owner_only: bool = False
    # Nothing else may stand in the message.
    alone: bool = False
