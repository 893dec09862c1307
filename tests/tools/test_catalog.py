"""The catalog: one definition per tool, from which its schema, offer and refusals come."""

from typing import Any

import msgspec
import pytest

from carrel.agents import ToolRules
from carrel.kernel import Code, Refusal
from carrel.tools import CATALOG, Permitted
from tests.requirements.mark import requirement


@requirement("P.tool.once")
def test_every_tool_has_one_name_one_strict_schema_and_one_effect() -> None:
    tools = CATALOG.offered()
    names = [tool.name for tool in tools]
    assert names == sorted(set(names))
    assert {"session_status", "request_input", "decline", "artifact_add"} <= set(names)
    for tool in tools:
        schema = tool.schema()
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert tool.effect in ("read", "write")
        assert tool.description
        assert CATALOG.find(tool.name) is tool


def test_the_schemas_have_required_fields_and_defaults() -> None:
    asked = CATALOG.find("request_input").schema()
    assert asked["required"] == ["question"]
    assert asked["properties"]["kind"]["default"] == "input"
    assert CATALOG.find("session_status").schema()["properties"]["sessionKey"]["default"] == "current"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("request_input", "{}"),
        ("request_input", '{"question": ""}'),
        ("request_input", '{"question": "x", "kind": "password"}'),
        ("request_input", '{"question": "x", "surprise": 1}'),
        ("request_input", '{"question": 7}'),
        ("decline", "[]"),
        ("decline", "no JSON"),
        ("session_status", '{"session_key": "main"}'),
        ("request_input", r'{"question": "a\u0000b"}'),
        ("artifact_add", '{"data": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    ],
)
def test_invalid_arguments_are_refused_with_the_name_of_the_tool(name: str, arguments: str) -> None:
    with pytest.raises(Refusal) as refused:
        CATALOG.find(name).read_params(arguments)
    assert refused.value.code == Code.INVALID_PARAMS
    assert name in refused.value.message


def words_of(field: dict[str, Any]) -> list[str]:
    """Return the words that a field of a schema takes; none if it takes anything else."""
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    listed = [kind["enum"] for kind in kinds if "enum" in kind]
    return [word for word in listed[0] if word is not None] if len(listed) == len(kinds) == 1 else []


def test_a_wrong_word_is_refused_with_the_words_to_choose_from() -> None:
    seen = 0
    for tool in CATALOG.offered():
        for field, words in ((name, words_of(one)) for name, one in tool.schema()["properties"].items()):
            if not words:
                continue
            given = {field: "nonsense"} | {one: "x" for one in tool.schema().get("required", ()) if one != field}
            with pytest.raises(Refusal) as refused:
                tool.read_params(msgspec.json.encode(given).decode())
            named = refused.value.message.removeprefix(f"{tool.name}: {field} must be one of ").rstrip(".")
            assert (sorted(named.split(", ")), refused.value.field) == (sorted(words), field), refused.value.message
            seen += 1
    assert seen >= 8
    with pytest.raises(Refusal, match=r"status must be one of in_progress, review, done, blocked\."):
        CATALOG.find("task_status").read_params('{"taskId": "x", "status": "completed"}')


def test_an_unknown_field_is_refused_with_the_closest_one_or_with_all() -> None:
    for tool in CATALOG.offered():
        fields = list(tool.schema()["properties"])
        with pytest.raises(Refusal) as refused:
            tool.read_params('{"zzzz": 1}')
        listed = f"; the fields are {', '.join(fields)}." if fields else "."
        assert refused.value.message == f"{tool.name}: There is no field zzzz{listed}"
    with pytest.raises(Refusal, match=r"There is no field session_key; did you mean sessionKey\?"):
        CATALOG.find("session_status").read_params('{"session_key": "main"}')
    with pytest.raises(Refusal, match=r"There is no tool 'task_stauts'; did you mean task_status\?"):
        CATALOG.find("task_stauts")


def test_arguments_may_contain_the_text_of_an_escaped_nul() -> None:
    asked = CATALOG.find("request_input").read_params(r'{"question": "Is it \\u0000?"}')
    assert msgspec.to_builtins(asked)["question"] == r"Is it \u0000?"


def test_arguments_may_be_empty_if_nothing_is_required() -> None:
    assert CATALOG.find("session_status").read_params("") == CATALOG.find("session_status").read_params("{}")


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (ToolRules(), ["artifact_add", "decline", "request_input", "session_status"]),
        (ToolRules(allow=("session_*", "decline")), ["decline", "session_status"]),
        (ToolRules(deny=("*_*",)), ["decline"]),
        (ToolRules(allow=("decline",), deny=("decline",)), []),
        (ToolRules(allow=()), []),
    ],
)
def test_a_wrapper_refuses_exactly_what_it_hides(rules: ToolRules, left: list[str]) -> None:
    known = {"artifact_add", "decline", "request_input", "session_status"}
    toolset = Permitted(CATALOG, rules)
    assert [tool.name for tool in toolset.offered() if tool.name in known] == left
    for tool in CATALOG.offered():
        if tool in toolset.offered():
            assert toolset.find(tool.name) is tool
        else:
            with pytest.raises(Refusal) as refused:
                toolset.find(tool.name)
            assert refused.value.code == Code.TOOL_NOT_ALLOWED
