"""Whether JSON has the shape of a request at all: objects, lists, texts and base64 where the protocol has them.

The protocol's library is lenient just there: it takes a text for an object without fields, and drops from base64
whatever is none. What is left to it, numbers, truths and names of states, it refuses itself.
"""

import re
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from carrel.surfaces.a2a.errors import wrong

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
# These have a JSON form of their own, which the library checks.
_WELL_KNOWN = "google.protobuf."
# The descriptions of a type and of a field; the library has two makings of each, and its newer ones know other names.
_Kind = Any
_Field = Any


def check_base64(text: str, path: str, *, padded: bool = False) -> None:
    """Refuse what is no base64: its readers would drop what does not belong, and bring other bytes than were sent."""
    if not _BASE64.fullmatch(text) or len(text.rstrip("=")) % 4 == 1 or (padded and len(text) % 4):
        raise wrong(path, f"{path} is base64.")


def check_shape(kind: _Kind, value: object, path: str = "") -> dict[str, Any]:
    """The JSON, once it has the type's shape, else the first place that has not; fields not known are passed over."""
    if not isinstance(value, dict):
        raise wrong(path or "params", f"{path or 'params'} is an object.")
    fields = _fields(kind)
    for name, inner in value.items():
        if name in fields and inner is not None:
            _check_field(*fields[name], inner, f"{path}.{name}" if path else name)
    return value


@lru_cache(maxsize=64)
def _fields(kind: _Kind) -> dict[str, tuple[_Field, bool]]:
    """The fields of a type by both their names, and whether each is a list."""
    return {name: (field, _is_list(field)) for field in kind.fields for name in (field.name, field.json_name)}


def _is_list(field: _Field) -> bool:
    # Older libraries know the label only, newer ones are about to forget it.
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def _check_field(field: _Field, is_list: bool, value: object, path: str) -> None:
    if not is_list:
        _check_one(field, value, path)
    elif not isinstance(value, list):
        raise wrong(path, f"{path} is a list.")
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
            raise wrong(path, f"{path} is a text.")
        if field.type == FieldDescriptor.TYPE_BYTES:
            check_base64(value, path)
    elif field.type == FieldDescriptor.TYPE_ENUM and isinstance(value, bool):
        raise wrong(path, f"{path} is one of the names of {field.enum_type.name}.")
