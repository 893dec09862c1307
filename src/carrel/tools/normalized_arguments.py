"""Accepts arguments that break the schema but are plain in meaning: models often fill in every field."""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect

from carrel.kernel import plain_word


class _Fields(Struct, frozen=True):
    """Which fields of some parameters are read leniently, by name."""

    # These take no null, so null counts as left out.
    never_null: frozenset[str]
    # Lists of strings; a single string counts as a list of one.
    lists: frozenset[str]
    # Choices, by their plain word: capitals, spaces and hyphens make no difference.
    words: dict[str, dict[str, str]]


def normalized(arguments: bytes, shape: type[Struct]) -> bytes:
    """Return JSON arguments in the form of the schema, as far as their meaning is plain."""
    fields = _fields(shape)
    if b"null" not in arguments and not fields.lists and not fields.words:
        return arguments
    try:
        given: Any = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Not JSON: the decoder will say what is wrong.
        return arguments
    if not isinstance(given, dict):
        return arguments
    kept = {name: one for name, one in given.items() if one is not None or name not in fields.never_null}
    meant = {name: _meant(fields, name, one) for name, one in kept.items()}
    return arguments if meant == given else msgspec.json.encode(meant)


def _meant(fields: _Fields, name: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    return [given] if name in fields.lists else fields.words.get(name, {}).get(plain_word(given), given)


@cache
def _fields(shape: type[Struct]) -> _Fields:
    described = inspect.type_info(shape)
    assert isinstance(described, inspect.StructType)
    kinds = {field.encode_name: _parts(field.type) for field in described.fields}
    words = {name: _words(parts) for name, parts in kinds.items()}
    return _Fields(
        never_null=frozenset(field.encode_name for field in described.fields if not _takes_null(field.type)),
        lists=frozenset(name for name, parts in kinds.items() if _is_list(parts)),
        words={name: known for name, known in words.items() if known},
    )


def _parts(kind: inspect.Type) -> list[inspect.Type]:
    """Return the types that a value may have, except null."""
    if isinstance(kind, inspect.Metadata):
        return _parts(kind.type)
    parts = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    bare = [part.type if isinstance(part, inspect.Metadata) else part for part in parts]
    return [part for part in bare if not isinstance(part, inspect.NoneType)]


def _is_list(parts: list[inspect.Type]) -> bool:
    if len(parts) != 1 or not isinstance(parts[0], inspect.ListType | inspect.VarTupleType):
        return False
    items = _parts(parts[0].item_type)
    return len(items) == 1 and isinstance(items[0], inspect.StrType)


def _words(parts: list[inspect.Type]) -> dict[str, str]:
    """Return the choices by their plain word; none if any text is allowed or two choices look alike."""
    if len(parts) != 1 or not isinstance(parts[0], inspect.LiteralType):
        return {}
    known = {plain_word(word): word for word in parts[0].values if isinstance(word, str)}
    return known if len(known) == len(parts[0].values) else {}


def _takes_null(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _takes_null(kind.type)
    if isinstance(kind, inspect.UnionType):
        return kind.includes_none
    return isinstance(kind, inspect.AnyType | inspect.NoneType)
