"""Decoding of incoming JSON; what is wrong with it becomes a refusal that names the field."""

import re
from typing import Any, TypeVar

import msgspec

from carrel.kernel.errors import Code, Refusal

Value = TypeVar("Value")
_ITEM = re.compile(r"\[(\d+)\]")
# Only after an even number of backslashes is it an escape; after an odd number it is literal text.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_TYPES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}
_PARTS = {"str": "characters", "array": "items", "object": "fields"}
_BOUNDS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "greater than", "": "exactly"}
_WRONG_TYPE = re.compile(r"Expected `(.+)`, got `(.+)`")
_WRONG_LENGTH = re.compile(r"Expected `(\w+)` of length ([<>=]*) ?(\d+)")
_OUT_OF_RANGE = re.compile(r"Expected `\w+` ([<>=]+) (\S+)")


def decode_json(raw: bytes, kind: type[Value], *, code: Code = Code.INVALID_JSON, of: str = "") -> Value:
    """Decode JSON as its type. `code` is for what is not JSON at all; `of` begins every message."""
    # Searching for the six characters is fast; the pattern then tells whether they are an escape.
    if rb"\u0000" in raw and _NUL.search(raw):
        raise Refusal(Code.INVALID_PARAMS, f"{of}Text must not contain NUL characters.", field=_path_of_nul(raw))
    try:
        return msgspec.json.decode(raw, type=kind)
    except _UNDECODABLE as error:
        # A wrong type is noticed before the end is reached, so look whether this is JSON at all.
        malformed = _malformed(raw)
        if malformed is None and isinstance(error, msgspec.ValidationError):
            raise wrong_value(error, of=of) from error
        raise Refusal(code, f"{of}This is not valid JSON: {malformed or error}.") from error


def _malformed(raw: bytes) -> str | None:
    try:
        msgspec.json.decode(raw)
    except _UNDECODABLE as error:
        return str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return None


def wrong_value(error: msgspec.ValidationError, *, of: str = "") -> Refusal:
    """Return the refusal for a validation error, naming the field by its dotted path; `of` begins the message."""
    message, _, path = str(error).partition(" - at `")
    at = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", "")).removeprefix(".")
    name = message.split("`")[1] if "`" in message else ""
    if "unknown field" in message or "missing required field" in message:
        at = f"{at}.{name}" if at else name
    return Refusal(Code.INVALID_PARAMS, f"{of}{_sentence(message, at)}", field=at or None)


def _sentence(message: str, at: str) -> str:
    subject = at or "The value"
    if "unknown field" in message:
        return f"There is no field {at}."
    if "missing required field" in message:
        return f"{subject} is missing."
    if found := _WRONG_TYPE.fullmatch(message):
        expected = [_TYPES.get(kind, kind) for kind in found[1].split(" | ")]
        return f"{subject} must be {' or '.join(expected)}, not {_TYPES.get(found[2], found[2])}."
    if found := _WRONG_LENGTH.fullmatch(message):
        parts = _PARTS.get(found[1], "items")
        return f"{subject} must have {_BOUNDS[found[2]]} {found[3]} {parts[:-1] if found[3] == '1' else parts}."
    if found := _OUT_OF_RANGE.fullmatch(message):
        return f"{subject} must be {_BOUNDS[found[1]]} {found[2]}."
    if message.startswith("Invalid enum value "):
        return f"{subject} must not be {message.removeprefix('Invalid enum value ')}."
    return f"{subject}: {message[0].lower()}{message[1:]}."


def _path_of_nul(raw: bytes) -> str | None:
    try:
        pending: list[tuple[str, Any]] = [("", msgspec.json.decode(raw))]
    except _UNDECODABLE:
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
