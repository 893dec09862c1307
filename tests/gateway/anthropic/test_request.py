"""Requests to the Messages API, in the form that Anthropic documents."""

from typing import Any

import pytest

from carrel.wire import Wire
from tests.gateway.dialects import KEY, TOOL, assistant, call, opened, output, sent_by, step, user
from tests.scripted_gateway import ScriptedGateway, text

pytestmark = pytest.mark.kinds("anthropic")
CACHED = {"cache_control": {"type": "ephemeral"}}
PNG = "data:image/png;base64,iVBORw0KGgo="


async def test_a_request_has_the_documented_form_with_marks_behind_what_stays_the_same(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    items = [user("one"), assistant("two"), user("three"), call("a", '{"limit" : 2}'), output("a", "none")]
    more: Any = {"temperature": 1.5, "parallel_tool_calls": False, "presence_penalty": 1}
    schema = {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": True}
    sent = await sent_by(opened("anthropic", gateway, wire), gateway, step(items, 2, **more, text={"format": schema}))
    assert sent == {
        "model": "m",
        "max_tokens": 8_192,
        "system": [{"type": "text", "text": "Be brief."} | CACHED],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "two"} | CACHED]},
            {"role": "user", "content": [{"type": "text", "text": "three"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "task_list", "input": {"limit": 2}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "none"} | CACHED]},
        ],
        "tools": [{"name": "task_list", "description": "List tasks.", "input_schema": TOOL["parameters"]}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "temperature": 1,
        "stream": True,
    }  # fmt: skip
    headers = gateway.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers


async def test_the_beginning_of_a_request_is_the_same_in_the_next_turn_up_to_its_mark(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.rule = lambda request: text("Yes.")
    client = opened("anthropic", gateway, wire)
    talk = [user("one"), assistant("two"), user("three"), assistant("four"), user("five")]
    one = await sent_by(client, gateway, step(talk[:3], 2))
    other = await sent_by(client, gateway, step(talk, 4))
    assert one["system"] == other["system"]
    assert one["tools"] == other["tools"]
    marked = [CACHED.items() <= message["content"][-1].items() for message in one["messages"]]
    assert marked == [False, True, True]
    assert [CACHED.items() <= message["content"][-1].items() for message in other["messages"]] == [False] * 3 + [
        True
    ] * 2
    plain = [[block["text"] for block in message["content"]] for message in other["messages"][:3]]
    assert plain == [["one"], ["two"], ["three"]]


@pytest.mark.parametrize(
    ("model", "thinking", "output_config"),
    [
        ("claude-opus-4-8", {"type": "adaptive"}, {"effort": "medium"}),
        ("claude-sonnet-4-6", {"type": "adaptive"}, {"effort": "medium"}),
        ("anthropic/claude-sonnet-5", {"type": "adaptive"}, {"effort": "medium"}),
        ("claude-sonnet-4-5-20250929", {"type": "enabled", "budget_tokens": 8_192}, None),
        ("claude-haiku-4.5", {"type": "enabled", "budget_tokens": 8_192}, None),
        ("claude-opus-4-20250514", {"type": "enabled", "budget_tokens": 8_192}, None),
        ("claude-3-7-sonnet-latest", {"type": "enabled", "budget_tokens": 8_192}, None),
        ("qwen3", {"type": "enabled", "budget_tokens": 8_192}, None),
    ],
)
async def test_a_model_is_asked_to_think_in_the_form_that_it_takes(
    gateway: ScriptedGateway, wire: Wire, model: str, thinking: Any, output_config: Any
) -> None:
    gateway.script(text("Yes."))
    given = step(model=model, reasoning={"effort": "medium"}, temperature=0.5)
    sent = await sent_by(opened("anthropic", gateway, wire, max_output_tokens=1_000), gateway, given)
    assert (sent["thinking"], sent.get("output_config")) == (thinking, output_config)
    assert sent["max_tokens"] == 9_192
    assert "temperature" not in sent


@pytest.mark.parametrize(
    "more",
    [
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "name": "task_list"}},
        {"reasoning": {"effort": "none"}},
        {"input": [user("go"), call("a"), output("a", "A")]},
    ],
)
async def test_a_model_is_not_asked_to_think_where_that_would_be_refused(
    gateway: ScriptedGateway, wire: Wire, more: Any
) -> None:
    gateway.script(text("Yes."))
    given = step(**{"model": "claude-sonnet-4-5", "reasoning": {"effort": "low"}, "max_output_tokens": 10} | more)
    sent = await sent_by(opened("anthropic", gateway, wire), gateway, given)
    assert "thinking" not in sent
    assert sent["max_tokens"] == 10


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ({"type": "function", "name": "task_list"}, {"type": "tool", "name": "task_list"}),
    ],
)
async def test_the_choice_of_tools_is_translated(gateway: ScriptedGateway, wire: Wire, choice: Any, sent: Any) -> None:
    gateway.script(text("Yes."))
    assert (await sent_by(opened("anthropic", gateway, wire), gateway, step(tool_choice=choice)))["tool_choice"] == sent


async def test_calls_of_other_servers_are_taken_whatever_their_ids_and_arguments(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    items = [
        user("go"),
        call("functions.x:0", '{"half'),
        call("b", "[1]"),
        output("functions.x:0", ""),
        output("b", "B"),
    ]
    sent = await sent_by(opened("anthropic", gateway, wire), gateway, step(items))
    first, second = sent["messages"][1]["content"]
    one, other = sent["messages"][2]["content"]
    assert first["id"] == one["tool_use_id"] != "functions.x:0"
    assert (first["input"], second["input"]) == ({"arguments_as_written": '{"half'}, {"arguments_as_written": "[1]"})
    assert "content" not in one
    assert other["content"] == "B"


async def test_images_and_files_pass_as_far_as_the_api_has_them_and_the_model_is_told_of_the_others(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    parts = [
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
        {"type": "input_file", "filename": "b.pdf", "file_url": "https://example.com/b.pdf"},
        {"type": "input_file", "filename": "a.json", "file_data": "data:application/json;base64,e30="},
        {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,UEs="},
        {"type": "input_image", "image_url": "data:image/tiff;base64,SUkq"},
    ]
    shown = output("a", [{"type": "input_text", "text": "See:"}, {"type": "input_image", "image_url": PNG}])
    items = [user(*parts, "What?"), call("a"), shown]
    sent = await sent_by(opened("anthropic", gateway, wire), gateway, step(items))
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    assert sent["messages"][0]["content"] == [
        image,
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "document", "source": pdf, "title": "a.pdf"},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/b.pdf"}, "title": "b.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{}"}, "title": "a.json"},
        {"type": "text", "text": "[Not sent: a.zip (application/zip). This model cannot be given it.]"},
        {"type": "text", "text": "[Not sent: an image (image/tiff). This model cannot be given it.]"},
        {"type": "text", "text": "What?"},
    ]
    assert sent["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "See:"}, image]
