"""Arguments whose meaning is plain although they are not written as the schema says: models often give all fields."""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect


def without_nulls(arguments: bytes, shape: type[Struct]) -> bytes:
    """Return JSON arguments without the fields that are null and cannot be: whoever writes null gives nothing."""
    if b"null" not in arguments:
        return arguments
    try:
        given: Any = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Not JSON: whoever decodes the arguments says what is wrong with them.
        return arguments
    if not isinstance(given, dict):
        return arguments
    never_null = _never_null(shape)
    return msgspec.json.encode({name: one for name, one in given.items() if one is not None or name not in never_null})


@cache
def _never_null(shape: type[Struct]) -> frozenset[str]:
    """The fields for which null is no value."""
    described = inspect.type_info(shape)
    assert isinstance(described, inspect.StructType)
    return frozenset(field.encode_name for field in described.fields if not _takes_null(field.type))


def _takes_null(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _takes_null(kind.type)
    if isinstance(kind, inspect.UnionType):
        return kind.includes_none
    return isinstance(kind, inspect.AnyType | inspect.NoneType)
