"""Decoding of JSON: an error says in plain words which field must be what."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from carrel.kernel import Code, Refusal, decode_json
from carrel.kernel.fields import Moment


class Red(Struct, tag_field="type", tag="red"):
    """One alternative."""

    deep: Literal["dark"] = "dark"


class Blue(Struct, tag_field="type", tag="blue"):
    """Another."""


class Order(Struct, forbid_unknown_fields=True, kw_only=True):
    """Something with one field of each kind."""

    name: Annotated[str, Meta(min_length=1, max_length=5)]
    note: str | None = None
    count: Annotated[int, Meta(ge=1, le=9)] = 1
    kind: Literal["new", "old"] = "new"
    tags: Annotated[list[str], Meta(max_length=2)] = []
    paints: list[Red | Blue] = []
    sizes: dict[str, Literal["small", "large"] | None] = {}
    code: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"
    due: Moment | None = None


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{}", "name is missing."),
        ('{"name": 7}', "name must be a string, not an integer."),
        ('{"name": ""}', "name must have at least 1 character."),
        ('{"name": "toolong"}', "name must have at most 5 characters."),
        ('{"name": "a", "note": true}', "note must be a string or null, not a boolean."),
        ('{"name": "a", "count": 0}', "count must be at least 1."),
        ('{"name": "a", "kind": "used"}', "kind must be one of new, old."),
        ('{"name": "a", "kind": "Newt"}', "kind must be one of new, old; did you mean 'new'?"),
        ('{"name": "a", "kind": 1}', "kind must be one of new, old."),
        ('{"name": "a", "sizes": {"coat": "huge"}}', "sizes must be one of small, large."),
        ('{"name": "a", "paints": [{"type": "green"}]}', "paints.0.type must be one of red, blue."),
        ('{"name": "a", "paints": [{"type": "red", "deep": "no"}]}', "paints.0.deep must be dark."),
        ('{"name": "a", "code": "7"}', "code must match the pattern ^[a-z]+$."),
        ('{"name": "a", "tags": ["b", 2]}', "tags.1 must be a string, not an integer."),
        ('{"name": "a", "tags": ["b", "c", "d"]}', "tags must have at most 2 items."),
        ('{"name": "a", "due": "tomorrow"}', "A time must look like 2026-01-31T12:00:00Z."),
        ('{"name": "a", "due": "2026-01-31T12:00:00"}', "A time must look like 2026-01-31T12:00:00Z."),
        ('{"name": "a", "due": 7}', "due must be a string or null, not an integer."),
        ('{"name": "a", "due": ["2026"]}', "due must be a string or null, not an array."),
        ('{"name": "a", "naem": "red"}', "There is no field naem; did you mean name?"),
        (
            '{"name": "a", "colour": "red"}',
            "There is no field colour; the fields are name, note, count, kind, tags, paints, sizes, code, due.",
        ),
        ("[]", "The value must be an object, not an array."),
    ],
)
def test_a_wrong_value_is_described_in_plain_words(raw: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        decode_json(raw.encode(), Order)
    assert (refused.value.code, refused.value.message) == (Code.INVALID_PARAMS, message)


@pytest.mark.parametrize("raw", ['{"name": "a"', '{"name": 7', "no JSON", "\udcff"])
def test_what_is_not_json_is_said_to_be_so_even_if_a_wrong_type_comes_first(raw: str) -> None:
    with pytest.raises(Refusal) as refused:
        decode_json(raw.encode(errors="surrogateescape"), Order)
    assert refused.value.code == Code.INVALID_JSON
    assert refused.value.message.startswith("This is not valid JSON: ")


def test_a_moment_is_read_as_milliseconds_and_may_be_null() -> None:
    assert decode_json(b'{"name": "a", "due": "1970-01-01T01:00:01+01:00"}', Order).due == 1_000
    assert decode_json(b'{"name": "a", "due": null}', Order).due is None
