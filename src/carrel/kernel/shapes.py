"""What callers send, and what they are shown of a value."""

from functools import cache
from typing import Any, Self, TypeVar

from msgspec import UNSET, Struct, structs

from carrel.kernel.clock import iso

# What a value and its shape differ in: moments are milliseconds in the one, ISO 8601 texts in the other.
When = TypeVar("When")


class Input(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What callers send: camelCase names, strict types, unknown names are refused."""

    def given(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        return {name: value for name, value in structs.asdict(self).items() if value is not UNSET}


class Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """What callers are shown of a value, with camelCase names on the wire."""

    @classmethod
    def of(cls, value: Struct, **fields: Any) -> Self:
        """Return a value in this shape: the fields given here, the others from the value itself.

        A number becomes an ISO 8601 moment where the shape has a text.
        """
        names, moments = _own(cls, type(value), tuple(fields))
        fields |= {name: getattr(value, name) for name in names}
        for name in moments:
            fields[name] = iso(fields[name])
        return cls(**fields)


class Usage(Shape, frozen=True, kw_only=True):
    """What a step or a run cost, as far as its gateway reports it; cached tokens are included in the input tokens."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None


@cache
def _own(shape: type[Struct], kind: type[Struct], given: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that a shape takes from a value, and those of them that are moments."""
    texts = {field.name for field in structs.fields(shape) if field.type in (str, str | None)}
    numbers = {field.name for field in structs.fields(kind) if field.type in (int, int | None)}
    names = tuple(name for name in shape.__struct_fields__ if name not in given)
    return names, tuple(name for name in names if name in texts & numbers)
