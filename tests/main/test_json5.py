"""JSON5 is read as its specification says, and a change of one value leaves every other byte as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.main.json5 import DEPTH_MAX, Json5Fault, read, with_item, with_value, without_item, without_value

# As people write it.
BY_HAND = """\
// The gateway of the barn.
{
  gateway: { mode: "local", port: 19711, }, // the door
  /* what it may cost */
  models: { providers: {} },
  'agents': {
    defaults: { x: 1 } // the last one
  },
}
"""
AS_PROGRAMS_WRITE = json.dumps({"gateway": {"port": 1}, "agents": {"defaults": {}}}, indent=2) + "\n"
ON_ONE_LINE = '{"gateway": {"port": 1}, "agents": {"defaults": 2}}'

NAMES = st.text(min_size=1, max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, 'b': 2, \"c\": 3, $d_1: 4, größe: 5,}", {"a": 1, "b": 2, "c": 3, "$d_1": 4, "größe": 5}),
        ("[0x1F, +1, -2, .5, 5., 1e3, -Infinity]", [31, 1, -2, 0.5, 5.0, 1000.0, float("-inf")]),
        ("// one\n/* two\n */ true // three", True),
        (r"""'it\'s \x41\u00e9 \ud83d\ude00\n'""", "it's Aé 😀\n"),
        ("'one \\\nline'", "one line"),
        ("[]", []),
        ("null", None),
    ],
)
def test_what_the_specification_allows_is_read(text: str, value: object) -> None:
    assert read(text).value == value


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("{a: 1", "line 1, column 6", "a comma or } is missing"),
        ("{\n  a 1}", "line 2, column 5", ": is missing"),
        ("{a: }", "line 1, column 5", "a value is missing"),
        ("{} x", "line 1, column 4", "nothing may follow"),
        ("{a: 'x}", "line 1, column 5", "does not end"),
        ("{1: 2}", "line 1, column 2", "a name is missing"),
        ("", "line 1, column 1", "a value is missing"),
        ("[" * (DEPTH_MAX + 2), f"column {DEPTH_MAX + 2}", "within each other"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, where: str, why: str) -> None:
    with pytest.raises(Json5Fault) as fault:
        read(text)
    assert where in str(fault.value)
    assert why in str(fault.value)


@pytest.mark.parametrize("text", [BY_HAND, AS_PROGRAMS_WRITE, ON_ONE_LINE])
def test_what_is_added_and_removed_again_leaves_the_text_as_it_was(text: str) -> None:
    added = with_value(text, ("plugins", "entries", "carrel"), {"enabled": True, "config": {"baseUrl": "http://x"}})
    added = with_item(added, ("plugins", "load", "paths"), "/somewhere")
    added = with_value(added, ("gateway", "http", "on"), True)
    added = with_value(added, ("agents", "more"), {"of": ["it"]})
    expected = read(text).value
    expected["plugins"] = {
        "entries": {"carrel": {"enabled": True, "config": {"baseUrl": "http://x"}}},
        "load": {"paths": ["/somewhere"]},
    }
    expected["gateway"]["http"] = {"on": True}
    expected["agents"]["more"] = {"of": ["it"]}
    assert read(added).value == expected
    for path in (("plugins", "entries", "carrel"), ("gateway", "http"), ("agents", "more")):
        added = without_value(added, path)
    assert without_item(added, ("plugins", "load", "paths"), "/somewhere") == text


def test_names_are_quoted_where_the_text_quotes_them() -> None:
    assert with_value(BY_HAND, ("mcp", "on"), True).endswith("  mcp: {\n    on: true,\n  },\n}\n")
    json.loads(with_value(AS_PROGRAMS_WRITE, ("mcp", "on"), True))
    json.loads(with_value(ON_ONE_LINE, ("mcp", "on"), True))


def test_a_value_that_is_there_is_replaced_and_its_comment_stays() -> None:
    assert with_value("{a: 1, // one\n b: 2}", ("a",), "x") == '{a: "x", // one\n b: 2}'
    assert with_value("{a: 1}", ("a",), 1) == "{a: 1}"
    assert with_value("{a: 1}", ("a",), True) == "{a: true}", "in Python they are equal"


def test_a_way_through_something_else_is_refused() -> None:
    with pytest.raises(Json5Fault, match="a is not an object"):
        with_value("{a: 1}", ("a", "b"), 2)
    with pytest.raises(Json5Fault, match="a is not an array"):
        with_item("{a: 1}", ("a",), 2)


@given(
    whole=st.dictionaries(NAMES, VALUES, max_size=4),
    name=NAMES,
    value=VALUES,
    indent=st.sampled_from([None, 2, "\t"]),
)
def test_plain_json_stays_plain_json(whole: dict[str, Any], name: str, value: Any, indent: int | str | None) -> None:
    text = json.dumps(whole, indent=indent, ensure_ascii=False)
    changed = with_value(text, (name,), value)
    assert json.loads(changed) == {**whole, name: value}
    removed = without_value(changed, (name,))
    assert json.loads(removed) == {key: kept for key, kept in whole.items() if key != name}
