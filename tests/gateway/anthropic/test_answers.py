"""The Messages API: exchanges in the shapes that Anthropic documents."""

import json
from typing import Any

import pytest

from carrel.wire import Wire
from tests.gateway.dialects import fault_of, opened, output, sent_by, step, take, user
from tests.scripted_gateway import Answer, ScriptedGateway, raw, stream_of, text

pytestmark = pytest.mark.kinds("anthropic")
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


async def test_a_stream_of_thoughts_text_and_parallel_calls_is_read(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(stream_of(*TOOL_STREAM))
    taken = await take(opened("anthropic", gateway, wire))
    answer = taken.answer
    assert taken.heard == ["Okay, let's ", "check."]
    assert (answer.text, answer.model) == ("Okay, let's check.", "claude-opus-4-8")
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls] == [
        ("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "task_list", '{"limit": 2}'), ("toolu_02", "agents_list", "{}"),
    ]  # fmt: skip
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (125, 89, 214)


async def test_thoughts_go_back_unchanged_before_the_calls_that_followed_them(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(stream_of(*TOOL_STREAM), text("Two."))
    client = opened("anthropic", gateway, wire)
    first = (await take(client)).answer
    results = [output("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "A"), output("toolu_02", "B")]
    sent = await sent_by(client, gateway, step([user("go"), *first.output, *results], message_at=0))
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me solve this.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "Okay, let's check."},
        {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "task_list", "input": {"limit": 2}},
        {"type": "tool_use", "id": "toolu_02", "name": "agents_list", "input": {}},
    ]


async def test_a_whole_message_is_read_like_its_stream(gateway: ScriptedGateway, wire: Wire) -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Okay, "},
        {"type": "text", "text": "let's check.", "citations": []},
        {"type": "tool_use", "id": "toolu_01", "name": "task_list", "input": {"limit": 2}},
    ]
    gateway.script(whole(content, "tool_use"))
    answer = (await take(opened("anthropic", gateway, wire))).answer
    assert (answer.text, answer.calls[0].arguments) == ("Okay, let's check.", '{"limit": 2}')
    assert answer.output[0]["encrypted_content"] == "sig"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (25, 15)


async def test_texts_around_a_call_are_messages_of_their_own(gateway: ScriptedGateway, wire: Wire) -> None:
    thought = [started(1, {"type": "thinking", "thinking": "Hm.", "signature": "s"})]
    said = [started(0, {"type": "text", "text": "One."}), *thought, started(2, {"type": "text", "text": "Two."})]
    gateway.script(stream_of(START, *said, ended("end_turn"), STOP))
    taken = await take(opened("anthropic", gateway, wire))
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
    gateway: ScriptedGateway, wire: Wire, error: dict[str, str], retryable: bool
) -> None:
    begun = (START, started(0, {"type": "text", "text": ""}), delta(0, "text_delta", text="One "))
    gateway.script(stream_of(*begun, {"type": "error", "error": error}))
    fault = await fault_of(opened("anthropic", gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_failed", retryable)
    assert error["message"] in fault.message


@pytest.mark.parametrize("length", [0, 1, 9, len(TOOL_STREAM) - 2])
async def test_a_stream_without_its_end_is_tried_again(gateway: ScriptedGateway, wire: Wire, length: int) -> None:
    gateway.script(stream_of(*TOOL_STREAM[:length]))
    fault = await fault_of(opened("anthropic", gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_unreadable", True)


async def test_a_stream_that_lacks_only_its_last_event_is_complete(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(stream_of(*TOOL_STREAM[:-1]))
    assert len((await take(opened("anthropic", gateway, wire))).answer.calls) == 2


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refusal_fails_for_good(gateway: ScriptedGateway, wire: Wire, stream: bool) -> None:
    gateway.script(stream_of(START, ended("refusal", output_tokens=1), STOP) if stream else whole([], "refusal"))
    fault = await fault_of(opened("anthropic", gateway, wire))
    assert (fault.code, fault.retryable) == ("model_refused", False)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("max_tokens", "max_output_tokens"), ("refusal", "refusal"), ("pause_turn", "pause_turn"),
        ("model_context_window_exceeded", "model_context_window_exceeded"), ("end_turn", None), ("stop_sequence", None),
    ],
)  # fmt: skip
async def test_an_answer_that_stops_early_says_why(
    gateway: ScriptedGateway, wire: Wire, reason: str, told: str | None
) -> None:
    gateway.script(whole([{"type": "text", "text": "Half"}], reason))
    answer = (await take(opened("anthropic", gateway, wire))).answer
    assert (answer.text, answer.incomplete_reason) == ("Half", told)


async def test_a_half_call_is_not_made(gateway: ScriptedGateway, wire: Wire) -> None:
    half = (
        started(0, {"type": "tool_use", "id": "a", "name": "b", "input": {}}),
        delta(0, "input_json_delta", partial_json='{"c'),
    )
    gateway.script(stream_of(START, *half, ended("max_tokens"), STOP))
    answer = (await take(opened("anthropic", gateway, wire))).answer
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
    gateway: ScriptedGateway, wire: Wire, events: list[dict[str, Any]]
) -> None:
    gateway.script(stream_of(*events))
    answer = (await take(opened("anthropic", gateway, wire))).answer
    assert answer.text == "Okay, let's check."
    assert [json.loads(call.arguments) for call in answer.calls] == [{"limit": 2}, {}]


async def test_arguments_may_be_written_as_text_and_calls_may_lack_their_ids(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    used = {"type": "tool_use", "name": "task_list", "input": '{"limit": 2}'}
    gateway.script(whole([used, used], "tool_use"))
    one, other = (await take(opened("anthropic", gateway, wire))).answer.calls
    assert (one.arguments, other.arguments) == ('{"limit": 2}', '{"limit": 2}')
    assert "" not in (one.call_id, other.call_id)
    assert one.call_id != other.call_id


async def test_an_answer_that_says_nothing_is_an_answer(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(whole([]))
    assert (await take(opened("anthropic", gateway, wire))).answer.text == ""
