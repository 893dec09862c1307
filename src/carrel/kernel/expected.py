"""What a type allows at a path inside it: the values to choose from, and the field names."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Struct, UnsetType, structs

# The path step from a mapping to its values, whatever their keys.
ANY = "*"


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
