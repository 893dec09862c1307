"""Validation errors of incoming JSON as refusals that name the field."""

import re
from typing import Any

import msgspec

from carrel.kernel.errors import Code, Refusal

_ITEM = re.compile(r"\[(\d+)\]")
# Only after an even number of backslashes is it an escape; after an odd number it is literal text.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def wrong_value(error: msgspec.ValidationError, *, of: str = "") -> Refusal:
    """Return the refusal for a validation error, naming the field by its dotted path; `of` is what was being read."""
    message, _, path = str(error).partition(" - at `")
    at = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", "")).removeprefix(".")
    quoted = message.split("`")
    if "unknown field" in message or "missing required field" in message:
        at = f"{at}.{quoted[1]}" if at else quoted[1]
    return Refusal(Code.INVALID_PARAMS, f"{of}: {message}." if of else f"{message}.", field=at or None)


def refuse_nul(raw: bytes, *, of: str = "") -> None:
    """Refuse JSON that contains a NUL character; `of` is what was being read."""
    # Searching for the six characters is fast; the pattern then tells whether they are an escape.
    if rb"\u0000" in raw and _NUL.search(raw):
        message = "Text must not contain NUL characters."
        raise Refusal(Code.INVALID_PARAMS, f"{of}: {message}" if of else message, field=_path_of_nul(raw))


def _path_of_nul(raw: bytes) -> str | None:
    try:
        pending: list[tuple[str, Any]] = [("", msgspec.json.decode(raw))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    while pending:
        at, value = pending.pop()
        if isinstance(value, str) and "\0" in value:
            return at or None
        inner = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, dict) else {}
        if any("\0" in str(name) for name in inner):
            return at or None
        pending += [(f"{at}.{name}" if at else str(name), one) for name, one in inner.items()]
    return None
