"""Decoding of incoming JSON; errors become refusals that name the field."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType, structs

from carrel.kernel.clock import parse_iso
from carrel.kernel.errors import Code, Refusal
from carrel.kernel.fields import Milliseconds

# The path step from a mapping to its values, whatever their keys.
ANY = "*"
Value = TypeVar("Value")
_NOT_A_MOMENT = "A time must look like 2026-01-31T12:00:00Z."
_GIVEN = {bool: "bool", int: "int", float: "float", list: "array", dict: "object"}
_ITEM = re.compile(r"\[(\d+)\]")
# An escape only after an even number of backslashes; after an odd number it is literal text.
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
_WRONG_CHOICE = re.compile(r"Invalid (?:enum )?value (.+)", re.DOTALL)
_WRONG_PATTERN = re.compile(r"Expected `str` matching regex '(.+)'")
# A longer list of names is no help.
_NAMES_SHOWN_MAX = 24


def choices_at(kind: Any, path: Sequence[str]) -> list[str]:
    """Return the values to choose from at a path, in the type's order; empty if other values are allowed too."""
    values: list[object] = []
    for one in _at(kind, path):
        if get_origin(one) is Literal:
            values += get_args(one)
        elif isinstance(one, type) and issubclass(one, Enum):
            values += [member.value for member in one]
        elif one not in (NoneType, UnsetType):
            return []
    if path and not values:
        parents = [one.__struct_config__ for one in _at(kind, path[:-1]) if _is_struct(one)]
        values = [config.tag for config in parents if config.tag_field == path[-1]]
    return list(dict.fromkeys(str(value) for value in values))


def allows_none(kind: Any, path: Sequence[str]) -> bool:
    """Return whether the value at a path may be null."""
    return NoneType in _at(kind, path)


def fields_at(kind: Any, path: Sequence[str]) -> list[str]:
    """Return the names of the fields that an object at a path may have."""
    found = [field.encode_name for one in _at(kind, path) if _is_struct(one) for field in structs.fields(one)]
    return list(dict.fromkeys(found))


def _at(kind: Any, path: Sequence[str]) -> list[Any]:
    found = list(_alternatives(kind))
    for step in path:
        found = [inner for one in found for part in _inside(one, step) for inner in _alternatives(part)]
    return found


def _alternatives(one: Any) -> Iterator[Any]:
    if get_origin(one) is Annotated:
        yield from _alternatives(get_args(one)[0])
    elif get_origin(one) in (Union, UnionType):
        for each in get_args(one):
            yield from _alternatives(each)
    else:
        yield one


def _inside(one: Any, step: str) -> Iterator[Any]:
    if _is_struct(one):
        yield from (field.type for field in structs.fields(one) if field.encode_name == step)
    elif isinstance(origin := get_origin(one), type) and get_args(one):
        yield get_args(one)[1 if issubclass(origin, Mapping) else 0]


def _is_struct(one: Any) -> bool:
    return isinstance(one, type) and issubclass(one, Struct)


def decode_json(
    raw: bytes, kind: type[Value], *, code: Code = Code.INVALID_JSON, of: str = "", strict: bool = True
) -> Value:
    """Decode JSON as its type. `code` is used if it is not JSON at all; `of` begins every message.

    If not `strict`, numbers and booleans may be written as strings.
    """
    # Searching for the six characters is fast; the pattern then decides whether they are an escape.
    if rb"\u0000" in raw and _NUL.search(raw):
        raise Refusal(Code.INVALID_PARAMS, f"{of}Text must not contain NUL characters.", field=_path_of_nul(raw))
    try:
        return msgspec.json.decode(raw, type=kind, strict=strict, dec_hook=read_moment)
    except _UNDECODABLE as error:
        # The decoder reports a wrong type before it reaches the end, so check whether this is JSON at all.
        malformed = _malformed(raw)
        if malformed is None and isinstance(error, msgspec.ValidationError):
            raise wrong_value(error, kind, of=of) from error
        raise Refusal(code, f"{of}This is not valid JSON: {malformed or error}.") from error


def read_moment(kind: type, value: Any) -> int:
    """Return the milliseconds of an ISO 8601 text, for fields that are moments; the `dec_hook` of msgspec."""
    assert kind is Milliseconds, "no other type of a request needs help"
    if not isinstance(value, str):
        raise TypeError(f"Expected `str`, got `{_GIVEN.get(type(value), 'null')}`")
    try:
        return parse_iso(value)
    except (ValueError, OverflowError) as error:
        raise ValueError(_NOT_A_MOMENT) from error


def _malformed(raw: bytes) -> str | None:
    try:
        msgspec.json.decode(raw)
    except _UNDECODABLE as error:
        return str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return None


def wrong_value(error: msgspec.ValidationError, kind: type, *, of: str = "") -> Refusal:
    """Return the refusal of a wrong value: its field's dotted path and what that allows; `of` begins the message."""
    message, _, path = str(error).partition(" - at `")
    # For a wrong key, the path is that of its mapping.
    path = path.removeprefix("key` in `")
    inner = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", f".{ANY}"))
    steps = [step for step in inner.split(".") if step]
    at = ".".join(step for step in steps if step != ANY)
    if message.startswith("Expected `str`,") and allows_none(kind, steps):
        # Our own decoding of moments does not know whether null is allowed too.
        message = message.replace("`str`", "`str | null`", 1)
    name = message.split("`")[1] if "`" in message else ""
    if "unknown field" in message:
        at = f"{at}.{name}" if at else name
        return Refusal(Code.INVALID_PARAMS, f"{of}{_unknown_field(at, name, fields_at(kind, steps))}", field=at)
    if "missing required field" in message:
        at = f"{at}.{name}" if at else name
    choices = choices_at(kind, steps) if at and "missing" not in message else []
    if choices:
        given = _WRONG_CHOICE.fullmatch(message)
        return Refusal.of_value(at, given[1].strip("'\"") if given else None, choices, of=of)
    return Refusal(Code.INVALID_PARAMS, f"{of}{_sentence(message, at)}", field=at or None)


def _unknown_field(at: str, name: str, known: list[str]) -> str:
    close = Refusal.nearest(name, known)
    if close:
        return f"There is no field {at}; did you mean {close}?"
    if 0 < len(known) <= _NAMES_SHOWN_MAX:
        return f"There is no field {at}; the fields are {', '.join(known)}."
    return f"There is no field {at}."


def _sentence(message: str, at: str) -> str:
    subject = at or "The value"
    if message == _NOT_A_MOMENT:
        return message
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
    if found := _WRONG_PATTERN.fullmatch(message):
        return f"{subject} must match the pattern {found[1]}."
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
