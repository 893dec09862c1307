"""Requests of Chat Completions, in the form that servers document."""

import json
from typing import Any

import pytest

from carrel.gateway.chat.dialect import ChatDialect
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.gateway.dialects import (
    ADDRESS,
    KEY,
    TOOL,
    assistant,
    call,
    opened,
    output,
    sent_by,
    step,
    user,
)
from tests.scripted_gateway import ScriptedGateway, text

pytestmark = pytest.mark.kinds("chat")
PNG = "data:image/png;base64,iVBORw0KGgo="


async def test_a_request_has_the_documented_form(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    items = [user("one"), assistant("two"), user("three"), call("a", '{"limit" : 2}'), output("a", "none")]
    more: Any = {
        "reasoning": {"effort": "low"},
        "temperature": 0.5,
        "max_output_tokens": 50,
        "parallel_tool_calls": False,
    }
    schema = {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": True}
    sent = await sent_by(
        opened("chat", gateway, wire), gateway, step(items, **more, text={"format": schema, "verbosity": "low"})
    )
    function = {"name": "task_list", "description": "List tasks.", "parameters": TOOL["parameters"]}
    made = {"id": "a", "type": "function", "function": {"name": "task_list", "arguments": '{"limit" : 2}'}}
    assert sent == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "three"},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "a", "content": "none"},
        ],
        "tools": [{"type": "function", "function": function}],
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "max_tokens": 50,
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": {
            "type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}, "strict": True},
        },
        "user": ADDRESS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }  # fmt: skip
    headers = gateway.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (headers["x-openclaw-session-key"], headers["x-openclaw-agent-id"]) == (ADDRESS, "writer")


async def test_the_limit_of_the_settings_holds_where_the_sender_names_none(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.rule = lambda request: text("Yes.")
    client = opened("chat", gateway, wire, max_output_tokens=300)
    assert (await sent_by(client, gateway, step()))["max_tokens"] == 300
    assert (await sent_by(client, gateway, step(max_output_tokens=20)))["max_tokens"] == 20
    assert "max_tokens" not in await sent_by(opened("chat", gateway, wire), gateway, step())


@pytest.mark.parametrize(
    ("base_url", "tokens", "context"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens", "developer"),
        ("https://me.openai.azure.com/openai/v1", "max_completion_tokens", "system"),
        ("https://openrouter.ai/api/v1", "max_tokens", "system"),
    ],
)
def test_names_that_differ_between_servers_follow_from_the_address(base_url: str, tokens: str, context: str) -> None:
    dialect = ChatDialect(GatewaySettings(kind="chat", base_url=base_url, max_output_tokens=9))
    items = [user("one"), assistant("two"), user("Kept facts") | {"role": "developer"}, user("three")]
    sent = json.loads(dialect.write(step(items)))
    assert sent[tokens] == 9
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", context, "user"]


async def test_a_named_tool_is_chosen(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    choice = {"type": "function", "name": "task_list"}
    sent = await sent_by(opened("chat", gateway, wire), gateway, step(tool_choice=choice))
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "task_list"}}


async def test_images_and_files_pass_as_far_as_the_dialect_has_them_and_the_model_is_told_of_the_others(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    pdf = "data:application/pdf;base64,JVBERi0="
    parts = [
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"},
        {"type": "input_file", "filename": "a.pdf", "file_data": pdf},
        {"type": "input_file", "filename": "a.md", "file_data": "data:text/markdown;base64,IyBIaQ=="},
        {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,UEs="},
        {"type": "input_file", "filename": "b.pdf", "file_url": "https://example.com/b.pdf"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_video", "video_url": "https://example.com/a.mp4"},
    ]
    shown = output("a", [{"type": "input_text", "text": "See:"}, {"type": "input_image", "image_url": PNG}])
    sent = await sent_by(opened("chat", gateway, wire), gateway, step([user(*parts, "What is it?"), call("a"), shown]))
    end = "This model cannot be given it.]"
    assert sent["messages"][1]["content"] == [
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
        {"type": "text", "text": "a.md:\n# Hi"},
        {"type": "text", "text": f"[Not sent: a.zip (application/zip). {end}"},
        {"type": "text", "text": f"[Not sent: b.pdf. {end}"},
        {"type": "text", "text": f"[Not sent: an image. {end}"},
        {"type": "text", "text": f"[Not sent: input_video. {end}"},
        {"type": "text", "text": "What is it?"},
    ]
    assert sent["messages"][3]["content"] == f"See:\n\n[Not sent: an image (image/png). {end}"
