"""Fields and values of the API in words: local times with their age, names without capitals, nested values in a row."""

import re
from collections.abc import Mapping
from datetime import datetime
from time import localtime, strftime

from carrel.kernel import MS_PER_SECOND, SystemClock, parse_iso

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
# Values that say nothing.
_NOTHING: tuple[object, ...] = (None, "", [], {}, ())


def label_of(name: str) -> str:
    """Return a field's name in words: `lastMessageAt` is `last message`, `assignedAgentIds` is `assigned agents`."""
    if " " in name:
        return name
    words = _CAPITAL.sub(" ", name).replace("_", " ").lower().split()
    if len(words) > 1 and words[-1] in ("at", "id"):
        words.pop()
    elif len(words) > 1 and words[-1] == "ids":
        words[-2:] = [f"{words[-2]}s"]
    return " ".join(words)


def in_words(value: object, name: str = "") -> str:
    """Return a value as people read it; empty when it says nothing."""
    if value in _NOTHING:
        return ""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() if name.endswith("At"):
            return moment(value)
        case float():
            return str(round(value, 2)).removesuffix(".0")
        case str() if _TIME.fullmatch(value):
            return moment(value)
        case Mapping():
            return ", ".join(f"{label_of(key)} {said}" for key, one in value.items() if (said := _inner(one, str(key))))
        case list() | tuple():
            return ", ".join(said for one in value if (said := _inner(one)))
        case _:
            return str(value)


def _inner(value: object, name: str = "") -> str:
    said = in_words(value, name)
    return f"({said})" if said and isinstance(value, Mapping) else said


def moment(at: str | int) -> str:
    """Return a moment as local time, with how long ago it was or how far ahead it is."""
    ms = _ms_of(at)
    return f"{strftime('%Y-%m-%d %H:%M:%S', localtime(ms / MS_PER_SECOND))} ({distance(ms)})"


def distance(at: str | int | None) -> str:
    """Return how far away a moment is: `5m ago`, or `in 3h`; empty without one."""
    if at in _NOTHING:
        return ""
    ahead = _ms_of(at) - SystemClock().now_ms()
    return f"in {_short(ahead)}" if ahead > 0 else f"{_short(-ahead)} ago"


def age(at: datetime | str | int | None) -> str:
    """Return how long ago a moment was, in short form: 12s, 5m, 3h, 2d."""
    return "" if at in _NOTHING else _short(max(0, SystemClock().now_ms() - _ms_of(at)))


def _ms_of(at: datetime | str | int | None) -> int:
    if isinstance(at, datetime):
        return int(at.timestamp() * MS_PER_SECOND)
    return at if isinstance(at, int) else parse_iso(at or "")


def _short(ms: int) -> str:
    seconds = ms // MS_PER_SECOND
    return next((f"{seconds // size}{unit}" for unit, size in _UNITS if seconds >= size), f"{seconds}s")
