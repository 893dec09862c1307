"""What was wrong with something that came in: a failed reading as a refusal that names the field."""

import re
from typing import Any

import msgspec

from carrel.kernel.errors import Code, Refusal

_ITEM = re.compile(r"\[(\d+)\]")
# An even number of backslashes before it is text about backslashes, not the beginning of an escape.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def wrong_value(error: msgspec.ValidationError, *, of: str = "") -> Refusal:
    """The validation error as a refusal that names the field by its dotted path; `of` is what it was meant for."""
    message, _, path = str(error).partition(" - at `")
    at = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", "")).removeprefix(".")
    quoted = message.split("`")
    if "unknown field" in message or "missing required field" in message:
        at = f"{at}.{quoted[1]}" if at else quoted[1]
    return Refusal(Code.INVALID_PARAMS, f"{of}: {message}." if of else f"{message}.", field=at or None)


def refuse_nul(raw: bytes, *, of: str = "") -> None:
    """Refuse JSON in which some text holds a NUL; `of` is what it was meant for."""
    # The search for the six characters alone is the fast one; whether they stand for a NUL takes a closer look.
    if rb"\u0000" in raw and _NUL.search(raw):
        message = "A NUL character may stand in no text."
        raise Refusal(Code.INVALID_PARAMS, f"{of}: {message}" if of else message, field=_place_of_nul(raw))


def _place_of_nul(raw: bytes) -> str | None:
    try:
        looked_at: list[tuple[str, Any]] = [("", msgspec.json.decode(raw))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    while looked_at:
        at, value = looked_at.pop()
        if isinstance(value, str) and "\0" in value:
            return at or None
        inner = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, dict) else {}
        if any("\0" in str(name) for name in inner):
            return at or None
        looked_at += [(f"{at}.{name}" if at else str(name), one) for name, one in inner.items()]
    return None
