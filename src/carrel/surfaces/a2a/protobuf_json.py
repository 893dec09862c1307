"""JSON of the protocol's protobuf types: a strict check of its shape and size, and messages written as JSON.

The protobuf library is too lenient about shape: it reads a string as an object without fields and drops invalid
characters from base64. Wrong numbers, booleans and enum names it refuses itself.
"""

import re
import sys
from functools import lru_cache
from typing import Any

from google.api.field_behavior_pb2 import REQUIRED, field_behavior  # type: ignore[import-untyped]
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from carrel.kernel.limits import A2A_LEVELS_MAX, A2A_VALUES_MAX
from carrel.surfaces.a2a.errors import invalid_params

Json = dict[str, Any]
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
# The same with the right length, for descriptions.
BASE64 = r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?"
# These types have their own JSON forms, which the library checks.
_WELL_KNOWN = "google.protobuf."
# How much of the path an error names.
_PATH_NAMES_MAX, _NAME_CHARS_MAX = 3, 40
# The descriptors of a type and of a field; the library has two implementations of each, with different attributes.
_Kind = Any
_Field = Any


def check_base64(text: str, path: str, *, padded: bool = False) -> None:
    """Refuse invalid base64; decoders would skip invalid characters and return other bytes than were sent."""
    if not _BASE64.fullmatch(text) or len(text.rstrip("=")) % 4 == 1 or (padded and len(text) % 4):
        raise invalid_params(path, f"{path} is not valid base64.")


def check_shape(kind: _Kind, value: object, path: str = "") -> Json:
    """Return the JSON if it has the shape of the type; otherwise refuse it, naming the field. Unknown fields pass."""
    if not isinstance(value, dict):
        raise invalid_params(path or "params", f"{path or 'params'} must be an object.")
    fields = _fields(kind)
    for name, inner in value.items():
        if name in fields and inner is not None:
            _check_field(*fields[name], inner, f"{path}.{name}" if path else name)
    return value


@lru_cache(maxsize=64)
def _fields(kind: _Kind) -> dict[str, tuple[_Field, bool]]:
    """Return the fields of a type by both of their names, and whether each is a list."""
    return {name: (field, is_list(field)) for field in kind.fields for name in (field.name, field.json_name)}


def is_list(field: _Field) -> bool:
    # Older versions of the library only have the label, which newer ones deprecate.
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def required_fields(kind: _Kind) -> list[_Field]:
    """Return the fields that the protocol requires of a type."""
    return [one for one in kind.fields if REQUIRED in one.GetOptions().Extensions[field_behavior]]


def _check_field(field: _Field, is_list: bool, value: object, path: str) -> None:
    if not is_list:
        _check_one(field, value, path)
    elif not isinstance(value, list):
        raise invalid_params(path, f"{path} must be a list.")
    else:
        for n, one in enumerate(value):
            _check_one(field, one, f"{path}.{n}")


def _check_one(field: _Field, value: object, path: str) -> None:
    kind = field.message_type
    if kind is not None:
        if not kind.full_name.startswith(_WELL_KNOWN):
            check_shape(kind, value, path)
    elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        if not isinstance(value, str):
            raise invalid_params(path, f"{path} must be a string.")
        if field.type == FieldDescriptor.TYPE_BYTES:
            check_base64(value, path)
    elif field.type == FieldDescriptor.TYPE_ENUM and isinstance(value, bool):
        raise invalid_params(path, f"{path} must be one of the names of {field.enum_type.name}.")


def check_json_limits(value: object) -> None:
    """Refuse JSON that is too deep or has too many values, naming where.

    Protobuf stops at 100 levels and turns one of ours into three; the SDK is slow at each value, and all other requests
    wait meanwhile.
    """
    path = path_beyond(value, A2A_LEVELS_MAX, A2A_VALUES_MAX)
    if path is not None:
        field = ".".join(name[:_NAME_CHARS_MAX] for name in path[:_PATH_NAMES_MAX]) or "params"
        limits = f"{A2A_LEVELS_MAX} levels and {A2A_VALUES_MAX} values"
        raise invalid_params(field, f"{field} is too deep or too large; a request has at most {limits}.")


def path_beyond(value: object, levels: int, values: int = sys.maxsize) -> tuple[str, ...] | None:
    """Return the path of the first value below that many levels or after that many values; None if there is none."""
    left = values

    def beyond(value: object, levels: int) -> tuple[str, ...] | None:
        nonlocal left
        left -= 1
        is_nested = isinstance(value, dict | list)
        if left < 0 or (is_nested and not levels):
            return ()
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in inside:
            path = beyond(inner, levels - 1)
            if path is not None:
                return (str(name), *path)
        return None

    return beyond(value, levels)


def to_json(message: Message) -> Json:
    """Return a protobuf message as JSON, with integers where protobuf has turned them into floats."""
    written: Json = with_integers(MessageToDict(message))
    return written


def with_integers(value: Any) -> Any:
    """Return JSON in which floats without a fraction are integers."""
    match value:
        case dict():
            return {name: with_integers(inner) for name, inner in value.items()}
        case list():
            return [with_integers(inner) for inner in value]
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case _:
            return value
