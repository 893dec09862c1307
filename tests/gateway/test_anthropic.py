"""The Messages API: exchanges in the shapes that Anthropic documents."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from carrel.wire import Wire
from tests.gateway.dialects import KEY, TOOL, assistant, call, fault_of, opened, output, sent_by, step, take, user
from tests.scripted_dialects import ScriptedAnthropic
from tests.scripted_gateway import Answer, ScriptedGateway, raw, stream_of, text

pytestmark = pytest.mark.anyio
CACHED = {"cache_control": {"type": "ephemeral"}}
PNG = "data:image/png;base64,iVBORw0KGgo="
START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "content": [],
        "model": "claude-opus-4-8", "stop_reason": None, "stop_sequence": None,
        "usage": {
            "input_tokens": 25, "cache_creation_input_tokens": None, "cache_read_input_tokens": 100, "output_tokens": 1,
        },
    },
}  # fmt: skip
STOP: dict[str, Any] = {"type": "message_stop"}


@pytest.fixture
def server() -> Iterator[ScriptedGateway]:
    with ScriptedAnthropic() as gateway:
        yield gateway


def started(index: int, block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind} | fields}


def ended(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def whole(content: Any, stop_reason: str | None = "end_turn", **more: Any) -> Answer:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "stop_sequence": None}
    usage = {"input_tokens": 25, "output_tokens": 15}
    return raw(json.dumps(head | {"content": content, "stop_reason": stop_reason, "usage": usage} | more).encode())


TOOL_STREAM: list[dict[str, Any]] = [
    START,
    {"type": "ping"},
    started(0, {"type": "thinking", "thinking": "", "signature": ""}),
    delta(0, "thinking_delta", thinking="Let me solve "),
    delta(0, "thinking_delta", thinking="this."),
    delta(0, "signature_delta", signature="EqQBCgIYAhIM1gbcDa9GJwZA2b3h"),
    {"type": "content_block_stop", "index": 0},
    started(1, {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}),
    {"type": "content_block_stop", "index": 1},
    started(2, {"type": "text", "text": ""}),
    delta(2, "text_delta", text="Okay, let's "),
    delta(2, "text_delta", text="check."),
    {"type": "content_block_stop", "index": 2},
    started(3, {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "task_list", "input": {}}),
    delta(3, "input_json_delta", partial_json=""),
    delta(3, "input_json_delta", partial_json='{"limit":'),
    delta(3, "input_json_delta", partial_json=" 2}"),
    {"type": "content_block_stop", "index": 3},
    started(4, {"type": "tool_use", "id": "toolu_02", "name": "agents_list", "input": {}}),
    {"type": "content_block_stop", "index": 4},
    ended("tool_use", output_tokens=89),
    STOP,
]


async def test_a_stream_of_thoughts_text_and_parallel_calls_is_read(server: ScriptedGateway, wire: Wire) -> None:
    server.script(stream_of(*TOOL_STREAM))
    taken = await take(opened("anthropic", server, wire))
    answer = taken.answer
    assert taken.heard == ["Okay, let's ", "check."]
    assert (answer.text, answer.model) == ("Okay, let's check.", "claude-opus-4-8")
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls] == [
        ("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "task_list", '{"limit": 2}'), ("toolu_02", "agents_list", "{}"),
    ]  # fmt: skip
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (125, 89, 214)


async def test_thoughts_go_back_unchanged_before_the_calls_that_followed_them(
    server: ScriptedGateway, wire: Wire
) -> None:
    server.script(stream_of(*TOOL_STREAM), text("Two."))
    gateway = opened("anthropic", server, wire)
    first = (await take(gateway)).answer
    results = [output("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "A"), output("toolu_02", "B")]
    sent = await sent_by(gateway, server, step([user("go"), *first.output, *results], message_at=0))
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me solve this.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "Okay, let's check."},
        {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "task_list", "input": {"limit": 2}},
        {"type": "tool_use", "id": "toolu_02", "name": "agents_list", "input": {}},
    ]


async def test_a_whole_message_is_read_like_its_stream(server: ScriptedGateway, wire: Wire) -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Okay, "},
        {"type": "text", "text": "let's check.", "citations": []},
        {"type": "tool_use", "id": "toolu_01", "name": "task_list", "input": {"limit": 2}},
    ]
    server.script(whole(content, "tool_use"))
    answer = (await take(opened("anthropic", server, wire))).answer
    assert (answer.text, answer.calls[0].arguments) == ("Okay, let's check.", '{"limit": 2}')
    assert answer.output[0]["encrypted_content"] == "sig"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (25, 15)


async def test_texts_around_a_call_are_messages_of_their_own(server: ScriptedGateway, wire: Wire) -> None:
    thought = [started(1, {"type": "thinking", "thinking": "Hm.", "signature": "s"})]
    said = [started(0, {"type": "text", "text": "One."}), *thought, started(2, {"type": "text", "text": "Two."})]
    server.script(stream_of(START, *said, ended("end_turn"), STOP))
    taken = await take(opened("anthropic", server, wire))
    assert taken.answer.text == "".join(taken.heard) == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, True),
        ({"type": "api_error", "message": "Internal server error"}, True),
        ({"type": "rate_limit_error", "message": "Slow down"}, True),
        ({"type": "invalid_request_error", "message": "messages: bad"}, False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_is_a_fault(
    server: ScriptedGateway, wire: Wire, error: dict[str, str], retryable: bool
) -> None:
    begun = (START, started(0, {"type": "text", "text": ""}), delta(0, "text_delta", text="One "))
    server.script(stream_of(*begun, {"type": "error", "error": error}))
    fault = await fault_of(opened("anthropic", server, wire))
    assert (fault.code, fault.retryable) == ("gateway_failed", retryable)
    assert error["message"] in fault.message


@pytest.mark.parametrize("length", [0, 1, 9, len(TOOL_STREAM) - 2])
async def test_a_stream_without_its_end_is_tried_again(server: ScriptedGateway, wire: Wire, length: int) -> None:
    server.script(stream_of(*TOOL_STREAM[:length]))
    fault = await fault_of(opened("anthropic", server, wire))
    assert (fault.code, fault.retryable) == ("gateway_unreadable", True)


async def test_a_stream_that_lacks_only_its_last_event_is_complete(server: ScriptedGateway, wire: Wire) -> None:
    server.script(stream_of(*TOOL_STREAM[:-1]))
    assert len((await take(opened("anthropic", server, wire))).answer.calls) == 2


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refusal_fails_for_good(server: ScriptedGateway, wire: Wire, stream: bool) -> None:
    server.script(stream_of(START, ended("refusal", output_tokens=1), STOP) if stream else whole([], "refusal"))
    fault = await fault_of(opened("anthropic", server, wire))
    assert (fault.code, fault.retryable) == ("model_refused", False)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("max_tokens", "max_output_tokens"), ("refusal", "refusal"), ("pause_turn", "pause_turn"),
        ("model_context_window_exceeded", "model_context_window_exceeded"), ("end_turn", None), ("stop_sequence", None),
    ],
)  # fmt: skip
async def test_an_answer_that_stops_early_says_why(
    server: ScriptedGateway, wire: Wire, reason: str, told: str | None
) -> None:
    server.script(whole([{"type": "text", "text": "Half"}], reason))
    answer = (await take(opened("anthropic", server, wire))).answer
    assert (answer.text, answer.incomplete_reason) == ("Half", told)


async def test_a_half_call_is_not_made(server: ScriptedGateway, wire: Wire) -> None:
    half = (
        started(0, {"type": "tool_use", "id": "a", "name": "b", "input": {}}),
        delta(0, "input_json_delta", partial_json='{"c'),
    )
    server.script(stream_of(START, *half, ended("max_tokens"), STOP))
    answer = (await take(opened("anthropic", server, wire))).answer
    assert (answer.calls, answer.incomplete_reason) == ((), "max_output_tokens")


def unnumbered(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != "index"}


@pytest.mark.parametrize(
    "events",
    [
        [unnumbered(event) for event in TOOL_STREAM],
        [event if event["type"] == "content_block_start" else unnumbered(event) for event in TOOL_STREAM],
        [event for event in TOOL_STREAM if event.get("content_block") != {"type": "text", "text": ""}],
    ],
    ids=["no numbers", "numbers in the first event of a block only", "a text that is not announced"],
)
async def test_blocks_are_read_however_a_server_numbers_them(
    server: ScriptedGateway, wire: Wire, events: list[dict[str, Any]]
) -> None:
    server.script(stream_of(*events))
    answer = (await take(opened("anthropic", server, wire))).answer
    assert answer.text == "Okay, let's check."
    assert [json.loads(call.arguments) for call in answer.calls] == [{"limit": 2}, {}]


async def test_arguments_may_be_written_as_text_and_calls_may_lack_their_ids(
    server: ScriptedGateway, wire: Wire
) -> None:
    used = {"type": "tool_use", "name": "task_list", "input": '{"limit": 2}'}
    server.script(whole([used, used], "tool_use"))
    one, other = (await take(opened("anthropic", server, wire))).answer.calls
    assert (one.arguments, other.arguments) == ('{"limit": 2}', '{"limit": 2}')
    assert "" not in (one.call_id, other.call_id)
    assert one.call_id != other.call_id


async def test_an_answer_that_says_nothing_is_an_answer(server: ScriptedGateway, wire: Wire) -> None:
    server.script(whole([]))
    assert (await take(opened("anthropic", server, wire))).answer.text == ""


async def test_a_request_has_the_documented_form_with_marks_behind_what_stays_the_same(
    server: ScriptedGateway, wire: Wire
) -> None:
    server.script(text("Yes."))
    items = [user("one"), assistant("two"), user("three"), call("a", '{"limit" : 2}'), output("a", "none")]
    more: Any = {"temperature": 1.5, "parallel_tool_calls": False, "presence_penalty": 1}
    schema = {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": True}
    sent = await sent_by(opened("anthropic", server, wire), server, step(items, 2, **more, text={"format": schema}))
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
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers


async def test_the_beginning_of_a_request_is_the_same_in_the_next_turn_up_to_its_mark(
    server: ScriptedGateway, wire: Wire
) -> None:
    server.rule = lambda request: text("Yes.")
    gateway = opened("anthropic", server, wire)
    talk = [user("one"), assistant("two"), user("three"), assistant("four"), user("five")]
    one = await sent_by(gateway, server, step(talk[:3], 2))
    other = await sent_by(gateway, server, step(talk, 4))
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
    server: ScriptedGateway, wire: Wire, model: str, thinking: Any, output_config: Any
) -> None:
    server.script(text("Yes."))
    given = step(model=model, reasoning={"effort": "medium"}, temperature=0.5)
    sent = await sent_by(opened("anthropic", server, wire, max_output_tokens=1_000), server, given)
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
    server: ScriptedGateway, wire: Wire, more: Any
) -> None:
    server.script(text("Yes."))
    given = step(**{"model": "claude-sonnet-4-5", "reasoning": {"effort": "low"}, "max_output_tokens": 10} | more)
    sent = await sent_by(opened("anthropic", server, wire), server, given)
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
async def test_the_choice_of_tools_is_translated(server: ScriptedGateway, wire: Wire, choice: Any, sent: Any) -> None:
    server.script(text("Yes."))
    assert (await sent_by(opened("anthropic", server, wire), server, step(tool_choice=choice)))["tool_choice"] == sent


async def test_calls_of_other_servers_are_taken_whatever_their_ids_and_arguments(
    server: ScriptedGateway, wire: Wire
) -> None:
    server.script(text("Yes."))
    items = [
        user("go"),
        call("functions.x:0", '{"half'),
        call("b", "[1]"),
        output("functions.x:0", ""),
        output("b", "B"),
    ]
    sent = await sent_by(opened("anthropic", server, wire), server, step(items))
    first, second = sent["messages"][1]["content"]
    one, other = sent["messages"][2]["content"]
    assert first["id"] == one["tool_use_id"] != "functions.x:0"
    assert (first["input"], second["input"]) == ({"arguments_as_written": '{"half'}, {"arguments_as_written": "[1]"})
    assert "content" not in one
    assert other["content"] == "B"


async def test_images_and_files_pass_as_far_as_the_api_has_them_and_the_model_is_told_of_the_others(
    server: ScriptedGateway, wire: Wire
) -> None:
    server.script(text("Yes."))
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
    sent = await sent_by(opened("anthropic", server, wire), server, step(items))
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
