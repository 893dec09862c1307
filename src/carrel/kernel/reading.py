"""What was wrong with something that came in: a failed reading as a refusal that names the field."""

import re

import msgspec

from carrel.kernel.errors import Code, Refusal

_ITEM = re.compile(r"\[(\d+)\]")


def wrong_value(error: msgspec.ValidationError, *, of: str = "") -> Refusal:
    """The validation error as a refusal that names the field by its dotted path; `of` is what it was meant for."""
    message, _, path = str(error).partition(" - at `")
    at = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", "")).removeprefix(".")
    quoted = message.split("`")
    if "unknown field" in message or "missing required field" in message:
        at = f"{at}.{quoted[1]}" if at else quoted[1]
    return Refusal(Code.INVALID_PARAMS, f"{of}: {message}." if of else f"{message}.", field=at or None)
