"""The names of the settings and what each accepts, derived from the structs in the kernel.

Reading files and the environment is up to `settings.py`.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import NODEFAULT, Struct, structs
from msgspec.inspect import FloatType, IntType, LiteralType, Metadata, type_info

from carrel.kernel import settings

Name = tuple[str, ...]
_BOOLEANS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)


class KnownSetting(Struct, frozen=True, kw_only=True):
    """One setting: its type, its default, and what it accepts in words."""

    type: Any
    default: Any
    form: str
    secret: bool
    address: bool


def known_names() -> dict[Name, KnownSetting]:
    """Return all settings by name, in the order of the structs, except those under names that users choose."""
    return dict(_leaves(settings.Settings, ()))


# Sections with names that users choose: gateways, models that have a price, budgets, MCP servers, webhooks.
NAMED_SECTIONS: dict[str, type[Struct]] = {
    "gateway": settings.GatewaySettings,
    "prices": settings.PriceSettings,
    "budgets": settings.BudgetSettings,
    "mcp": settings.McpServerSettings,
    "webhooks": settings.WebhookSettings,
}


def known_named(section: str, chosen: str) -> dict[Name, KnownSetting]:
    """Return the settings of one gateway, budget or MCP server, or the prices of one model, by name."""
    return dict(_leaves(NAMED_SECTIONS[section], (section, chosen)))


def snake(word: str) -> str:
    """Convert a camelCase name to snake_case: `ttlDays` becomes `ttl_days`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", word).lower()


def nearest(name: Name, candidates: Iterable[Name]) -> Name:
    """Return the candidate that was most likely meant."""
    dotted = {".".join(candidate): candidate for candidate in candidates}
    asked = ".".join(name)
    same_end = [text for text, candidate in dotted.items() if candidate[-1] == name[-1]]
    close = difflib.get_close_matches(asked, dotted, n=1, cutoff=0.75)
    best = close or same_end[:1] or difflib.get_close_matches(asked, dotted, n=1, cutoff=0.0)
    return dotted[best[0]]


def read_text(text: str, known: KnownSetting) -> object:
    """Parse an environment variable; text that cannot be parsed is returned as is, for the check to refuse."""
    kind = _bare(type_info(known.type))
    if isinstance(kind, msgspec.inspect.BoolType):
        return _BOOLEANS.get(text.strip().lower(), text)
    readers: tuple[Callable[[str], object], ...] = ()
    if isinstance(kind, IntType | FloatType):
        readers = (int, float)
    elif isinstance(kind, msgspec.inspect.VarTupleType | msgspec.inspect.DictType):
        readers = (json.loads,)
    for read in readers:
        with suppress(ValueError):
            return read(text)
    return text


def checked(value: object, known: KnownSetting) -> object:
    """Convert a value to the setting's type; raise `msgspec.ValidationError` when it does not fit."""
    return msgspec.convert(value, known.type, dec_hook=as_path)


def shown(value: object, known: KnownSetting) -> object:
    """Return a value for display, with secrets hidden."""
    if known.secret:
        return "set" if value else ""
    if known.address:
        return hide_password(str(value))
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return msgspec.to_builtins(list(value) if isinstance(value, tuple) else value)


def hide_password(address: str) -> str:
    """Return an address with its password replaced by `set`; the password may contain unescaped characters."""
    within = re.sub(r"(://[^/@:]*):[^\s]*@", r"\1:set@", address)
    return re.sub(r"([?&]password=)[^&]*", r"\1set", within)


def _leaves(section: type[Struct], above: Name) -> Iterable[tuple[Name, KnownSetting]]:
    for field in structs.fields(section):
        name = (*above, field.name)
        if len(name) == 1 and name[0] in NAMED_SECTIONS:
            continue
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from _leaves(field.type, name)
            continue
        described = type_info(field.type)
        extra = (described.extra or {}) if isinstance(described, Metadata) else {}
        known = KnownSetting(
            type=field.type,
            default=field.default if field.default_factory is NODEFAULT else field.default_factory(),
            form=extra.get("form") or _form(field.type, _bare(described)),
            secret="secret" in extra,
            address="address" in extra,
        )
        yield name, known


def _bare(described: msgspec.inspect.Type) -> msgspec.inspect.Type:
    return described.type if isinstance(described, Metadata) else described


def _form(annotation: Any, kind: msgspec.inspect.Type) -> str:
    match kind:
        case IntType():
            return f"a whole number from {kind.ge:,} to {kind.le:,}"
        case FloatType():
            return f"a number from {kind.ge:g} to {kind.le:,.0f}"
        case LiteralType():
            return "one of " + ", ".join(str(value) for value in get_args(annotation))
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.VarTupleType(item_type=msgspec.inspect.StrType()):
            return 'a list of strings, in the environment as JSON: ["a", "b"]'
        case msgspec.inspect.VarTupleType():
            return 'a list of {"match": {"channel", "chatType", "keyPrefix"}, "action": "allow" or "deny"}'
        case msgspec.inspect.DictType():
            return 'a table of strings, in the environment as JSON: {"a": "b"}'
        case msgspec.inspect.StrType(min_length=1):
            return "a non-empty string"
        case _:
            return "a string"


def as_path(kind: type, value: object) -> object:
    """Read a path for msgspec, which has no form for one."""
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise msgspec.ValidationError("Expected a path")
