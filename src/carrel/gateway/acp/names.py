"""The protocol's kinds of tools, and our names for what coding agents do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

PREFIX = "acp__"
PLAN = f"{PREFIX}plan"


class ActKind(Struct, frozen=True):
    """A kind of act: what it does, in words for people, and whether it changes something."""

    does: str
    effect: Literal["read", "write"]


# Tool names that agents' rules and plan mode use, such as `acp__edit`.
ACT_KINDS: Mapping[str, ActKind] = MappingProxyType({
    f"{PREFIX}read": ActKind("read a file", "read"),
    f"{PREFIX}search": ActKind("search files", "read"),
    f"{PREFIX}think": ActKind("think", "read"),
    f"{PREFIX}fetch": ActKind("fetch something from elsewhere", "write"),
    f"{PREFIX}edit": ActKind("edit a file", "write"),
    f"{PREFIX}delete": ActKind("delete files", "write"),
    f"{PREFIX}move": ActKind("move files", "write"),
    f"{PREFIX}execute": ActKind("run a command", "write"),
    f"{PREFIX}switch_mode": ActKind("switch its mode", "write"),
    f"{PREFIX}other": ActKind("do something else", "write"),
})  # fmt: skip
READ, EDIT, OTHER = f"{PREFIX}read", f"{PREFIX}edit", f"{PREFIX}other"


def name_of(kind: str | None) -> str:
    """Return the tool name of one of the protocol's kinds."""
    name = f"{PREFIX}{kind}"
    return name if name in ACT_KINDS else OTHER
