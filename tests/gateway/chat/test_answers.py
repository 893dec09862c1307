"""Chat Completions as its many servers speak it: exchanges in the shapes that they document, and odd ones."""

import json
from typing import Any

import pytest

from carrel.wire import Wire
from tests.gateway.dialects import (
    call,
    fault_of,
    opened,
    output,
    sent_by,
    step,
    take,
    user,
)
from tests.scripted_gateway import Answer, ScriptedGateway, raw, stream_of, text

pytestmark = pytest.mark.kinds("chat")
USAGE = {"prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99}


def chunk(delta: Any = None, finish_reason: str | None = None, **more: Any) -> str:
    """Return a chunk as OpenAI sends it."""
    head = {"id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1694268190, "model": "gpt-4o-mini"}
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish_reason}
    return json.dumps(head | {"system_fingerprint": "fp_44709d6fcb", "choices": [choice]} | more)


def tool(index: int | None, call_id: str | None = None, **function: Any) -> dict[str, Any]:
    numbered = {} if index is None else {"index": index}
    named = {} if call_id is None else {"id": call_id, "type": "function"}
    return {"tool_calls": [numbered | named | {"function": function}]}


def whole(message: Any, finish_reason: str | None = "stop", **more: Any) -> Answer:
    """Return a complete answer as OpenAI sends it."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    head = {"id": "chatcmpl-123", "object": "chat.completion", "created": 1677652288, "model": "gpt-4o-mini"}
    return raw(json.dumps(head | {"choices": [choice], "usage": USAGE} | more).encode())


STREAMED_CALLS = {
    "OpenAI: two calls, by index": [
        chunk({"role": "assistant", "content": None}),
        chunk(tool(0, "call_a", name="task_list", arguments="")),
        chunk(tool(0, arguments='{"limit"')),
        chunk(tool(1, "call_b", name="agents_list", arguments="")),
        chunk(tool(0, arguments=": 2}")),
        chunk(tool(1, arguments="{}")),
        chunk(finish_reason="tool_calls"),
        chunk(choices=[], usage=USAGE),
        "[DONE]",
    ],
    "Gemini: whole calls without an index": [
        chunk(tool(None, "call_a", name="task_list", arguments='{"limit": 2}')),
        chunk(tool(None, "call_b", name="agents_list", arguments="{}"), "stop"),
        "[DONE]",
    ],
    "Ollama: whole calls that are all number 0": [
        chunk({"role": "assistant", "content": ""} | tool(0, "call_a", name="task_list", arguments='{"limit": 2}')),
        chunk({"role": "assistant", "content": ""} | tool(0, "call_b", name="agents_list", arguments="{}")),
        chunk({"role": "assistant", "content": ""}, "tool_calls"),
        "[DONE]",
    ],
    "arguments as an object, no end of the stream": [
        chunk(tool(0, "call_a", name="task_list", arguments={"limit": 2})),
        chunk(tool(1, "call_b", name="agents_list", arguments=None)),
        chunk(finish_reason="tool_calls"),
    ],
    "id and name in every piece, no reason for the end": [
        chunk(tool(0, "call_a", name="task_list", arguments='{"limit"')),
        chunk(tool(0, "call_a", name="task_list", arguments=": 2}")),
        chunk(tool(1, "call_b", name="agents_list", arguments="{}")),
        "[DONE]",
    ],
    "pieces without id and index": [
        chunk(tool(None, "call_a", name="task_list", arguments="")),
        chunk(tool(None, arguments='{"limit": 2}')),
        chunk(tool(None, "call_b", name="agents_list", arguments="{}")),
        chunk(tool(None, arguments="")),
        chunk(finish_reason="tool_calls"),
    ],
    "the id later than the name": [
        chunk(tool(0, name="task_list", arguments="")),
        chunk(tool(0, "call_a", arguments='{"limit": 2}')),
        chunk(tool(1, "call_b", name="agents_list", arguments="{}")),
        chunk(finish_reason="tool_calls"),
    ],
}


@pytest.mark.parametrize("lines", STREAMED_CALLS.values(), ids=STREAMED_CALLS)
async def test_streamed_calls_are_read_however_the_server_names_them(
    gateway: ScriptedGateway, wire: Wire, lines: list[str]
) -> None:
    gateway.script(stream_of(*lines))
    answer = (await take(opened("chat", gateway, wire))).answer
    found = [(call.call_id, call.name, json.loads(call.arguments)) for call in answer.calls]
    assert found == [("call_a", "task_list", {"limit": 2}), ("call_b", "agents_list", {})]
    assert answer.model == "gpt-4o-mini"


async def test_calls_without_ids_get_the_same_ids_whenever_the_same_step_is_answered_so(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    function = {"name": "task_list", "arguments": "{}"}
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": function}, {"function": function}]}
    gateway.rule = lambda request: whole(message, "tool_calls")
    client = opened("chat", gateway, wire)
    one, other = [(await take(client)).answer.calls for _ in range(2)]
    assert one == other
    assert len({call.call_id for call in one}) == 2


STREAMED_WITHOUT_IDS = {
    "by index": [
        chunk(tool(0, name="task_list", arguments='{"limit"')),
        chunk(tool(1, name="agents_list", arguments="")),
        chunk(tool(0, arguments=": 2}")),
        chunk(finish_reason="tool_calls"),
    ],
    "an id for the first one only": [
        chunk(tool(0, "call_a", name="task_list", arguments='{"limit": 2}')),
        chunk(tool(1, name="agents_list", arguments="{}"), "tool_calls"),
    ],
    "without an index, in one piece": [
        chunk({"tool_calls": [
            {"function": {"name": "task_list", "arguments": {"limit": 2}}},
            {"function": {"name": "agents_list", "arguments": {}}},
        ]}, "tool_calls"),
    ],
    "without an index, one after the other": [
        chunk(tool(None, name="task_list", arguments="")),
        chunk(tool(None, arguments='{"limit": 2}')),
        chunk(tool(None, name="agents_list", arguments="{}"), "stop"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("lines", STREAMED_WITHOUT_IDS.values(), ids=STREAMED_WITHOUT_IDS)
async def test_streamed_calls_without_ids_are_kept_apart(
    gateway: ScriptedGateway, wire: Wire, lines: list[str]
) -> None:
    gateway.script(stream_of(chunk({"role": "assistant"}), *lines, "[DONE]"))
    made = (await take(opened("chat", gateway, wire))).answer.calls
    assert [(call.name, json.loads(call.arguments)) for call in made] == [
        ("task_list", {"limit": 2}),
        ("agents_list", {}),
    ]
    assert len({call.call_id for call in made} - {""}) == 2


async def test_chunks_that_tell_something_else_are_skipped(gateway: ScriptedGateway, wire: Wire) -> None:
    filtered: Any = {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    lines = (chunk(choices=[], **filtered), chunk({"role": "assistant"}), chunk({"content": "Hi"}), chunk(choices=None))
    gateway.script(stream_of(*lines, chunk(choices=[{"delta": None}]), chunk(finish_reason="stop"), "[DONE]"))
    assert (await take(opened("chat", gateway, wire))).answer.text == "Hi"


async def test_the_call_of_older_servers_is_read(gateway: ScriptedGateway, wire: Wire) -> None:
    deltas = ({"function_call": {"name": "task_list", "arguments": ""}}, {"function_call": {"arguments": "{}"}})
    gateway.script(stream_of(*map(chunk, deltas), chunk(finish_reason="function_call"), "[DONE]"))
    (found,) = (await take(opened("chat", gateway, wire))).answer.calls
    assert (found.name, found.arguments) == ("task_list", "{}")


async def test_usage_is_read_from_the_chunk_without_choices_and_from_any_other(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    said = (chunk({"content": "Hi"}), chunk(finish_reason="stop"))
    gateway.script(
        stream_of(*said, chunk(choices=[], usage=USAGE | {"cost": 0.25}), "[DONE]"),
        stream_of(chunk({"content": "Hi"}), chunk({"content": ""}, "stop", usage=USAGE), "[DONE]"),
        stream_of(*said, "[DONE]"),
    )
    client = opened("chat", gateway, wire)
    first, second, third = [(await take(client)).answer.usage for _ in range(3)]
    assert (first.input_tokens, first.output_tokens, first.total_tokens, first.cost_usd) == (82, 17, 99, 0.25)
    assert second.total_tokens == 99
    assert third.total_tokens == 0


async def test_an_answer_in_parts_is_text(gateway: ScriptedGateway, wire: Wire) -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Bon"}, {"type": "text", "text": "jour."}]
    gateway.script(whole({"role": "assistant", "content": parts}))
    assert (await take(opened("chat", gateway, wire))).answer.text == "Bonjour."


@pytest.mark.parametrize(
    ("line", "retryable"),
    [
        ('{"error": {"message": "Provider disconnected", "code": 502}}', True),
        ('{"error": {"message": "overloaded", "type": "server_error", "code": null}}', True),
        ('{"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}', False),
        (chunk(choices=[{"delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "slow"}}]), True),
        (chunk(finish_reason="error"), True),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_is_a_fault(
    gateway: ScriptedGateway, wire: Wire, line: str, retryable: bool
) -> None:
    gateway.script(stream_of(chunk({"content": "One "}), line, "[DONE]"))
    fault = await fault_of(opened("chat", gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_failed", retryable)


@pytest.mark.parametrize(
    "lines",
    [
        [chunk({"content": "One "})],
        [chunk(tool(0, "a", name="task_list", arguments='{"li')), "[DONE]"],
        [chunk(choices=[]), "[DONE]"],
        ["[DONE]"],
        ["not json"],
        [],
    ],
)
async def test_a_stream_without_its_end_is_tried_again(gateway: ScriptedGateway, wire: Wire, lines: list[str]) -> None:
    gateway.script(stream_of(*lines))
    fault = await fault_of(opened("chat", gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_unreadable", True)


async def test_an_answer_that_says_nothing_is_an_answer(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(whole({"role": "assistant", "content": ""}), stream_of(chunk(finish_reason="stop"), "[DONE]"))
    for _ in range(2):
        answer = (await take(opened("chat", gateway, wire))).answer
        assert (answer.text, answer.calls) == ("", ())


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refusal_fails_for_good(gateway: ScriptedGateway, wire: Wire, stream: bool) -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I'm sorry, I cannot assist with that."}
    lines = (chunk({"refusal": "I'm sorry, I cannot"}), chunk({"refusal": " assist with that."}), chunk({}, "stop"))
    gateway.script(stream_of(*lines, "[DONE]") if stream else whole(refusal))
    fault = await fault_of(opened("chat", gateway, wire))
    assert (fault.code, fault.retryable) == ("model_refused", False)
    assert "I'm sorry, I cannot assist with that." in fault.message


async def test_a_filtered_answer_is_a_refusal_or_cut_short(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(whole({"content": None}, "content_filter"), whole({"content": "Half"}, "content_filter"))
    fault = await fault_of(opened("chat", gateway, wire))
    assert (fault.code, fault.retryable) == ("model_refused", False)
    answer = (await take(opened("chat", gateway, wire))).answer
    assert (answer.text, answer.incomplete_reason) == ("Half", "content_filter")


async def test_an_answer_at_its_limit_is_cut_short_and_its_half_call_is_not_made(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    half = [{"id": "a", "type": "function", "function": {"name": "task_list", "arguments": '{"li'}}]
    gateway.script(whole({"content": "Half", "tool_calls": half}, "length"))
    answer = (await take(opened("chat", gateway, wire))).answer
    assert (answer.text, answer.calls, answer.incomplete_reason) == ("Half", (), "max_output_tokens")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_what_the_model_thought_is_not_said_and_goes_back_under_its_name(
    gateway: ScriptedGateway, wire: Wire, field: str
) -> None:
    deltas = ({field: "Let me "}, {field: "see."}, tool(0, "a", name="task_list", arguments="{}"))
    gateway.script(stream_of(*map(chunk, deltas), chunk(finish_reason="tool_calls"), "[DONE]"), text("Done."))
    taken = await take(opened("chat", gateway, wire))
    assert (taken.answer.text, taken.heard) == ("", [])
    sent = await sent_by(
        opened("chat", gateway, wire), gateway, step([user("go"), *taken.answer.output, output("a", "A")])
    )
    assert sent["messages"][2][field] == "Let me see."


async def test_thoughts_from_elsewhere_are_not_sent(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Done."))
    foreign = {"type": "reasoning", "summary": [], "encrypted_content": "secret"}
    sent = await sent_by(
        opened("chat", gateway, wire), gateway, step([user("go"), foreign, call("a"), output("a", "A")])
    )
    assert "secret" not in json.dumps(sent)
    assert set(sent["messages"][2]) == {"role", "content", "tool_calls"}


async def test_halves_of_a_character_arrive_as_one(gateway: ScriptedGateway, wire: Wire) -> None:
    halves = ['{"choices":[{"delta":{"content":"\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\udc3f"}}]}']
    gateway.script(stream_of(*halves, chunk(finish_reason="stop"), "[DONE]"))
    taken = await take(opened("chat", gateway, wire))
    assert (taken.heard, taken.answer.text) == (["\U0001f43f"], "\U0001f43f")
