"""Reading event streams and JSON bodies, whatever servers leave out of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.gateway import GatewayFault, StepAnswer
from carrel.gateway.event_stream import AnswerReader
from carrel.gateway.faults import Faults, is_transient, retry_after
from carrel.kernel import ServerEvent, Usage
from tests.requirements.mark import requirement
from tests.scripted_gateway import call_item, message_item

FAULTS = Faults("default", "sk-secret-key")
DONE = "[DONE]"


def read(*events: dict[str, Any] | str) -> tuple[StepAnswer, list[str]]:
    """The answer of a stream, and the text that was emitted meanwhile."""
    heard: list[str] = []
    reader = AnswerReader(seed="seed", faults=FAULTS, on_text=heard.append)
    for event in events:
        if not reader.is_finished:
            reader.feed(ServerEvent("", event if isinstance(event, str) else json.dumps(event)))
    return reader.end(), heard


def fault_of(*events: dict[str, Any] | str) -> GatewayFault:
    with pytest.raises(GatewayFault) as caught:
        read(*events)
    return caught.value


def delta(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, **more}


def completed(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output), **more}}


def test_a_standard_stream_yields_text_usage_and_model() -> None:
    item = message_item("Hello you")
    at = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    answer, heard = read(
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        {"type": "response.output_item.added", "item": {**item, "content": []}, **at},
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}, **at},
        delta("Hello", **at),
        delta(" you", **at),
        {"type": "response.output_text.done", "text": "Hello you", **at},
        {"type": "response.content_part.done", "part": item["content"][0], **at},
        {"type": "response.output_item.done", "item": item, **at},
        completed(item, model="m-1", usage={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "cost": 0.25}),
        DONE,
    )
    assert (answer.text, answer.calls, answer.model) == ("Hello you", (), "m-1")
    assert answer.usage == Usage(input_tokens=3, output_tokens=2, total_tokens=5, cost_usd=0.25)
    assert answer.output == [item]
    assert heard == ["Hello", " you"]


def test_a_stream_without_indices_ids_and_done_mark_is_read_as_llama_cpp_sends_it() -> None:
    answer, heard = read(
        {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress"}},
        {"type": "response.output_item.added", "item": {"type": "message", "id": "msg_9", "content": []}},
        delta("Hi", item_id="msg_9"),
        delta(" there", item_id="msg_9"),
        {"type": "response.output_text.done", "text": "Hi there", "item_id": "msg_9"},
        {
            "type": "response.output_item.done",
            "item": {"type": "message", "content": message_item("Hi there")["content"]},
        },
        completed(message_item("Hi there"), model="llama", usage={"input_tokens": 1, "output_tokens": 2}),
    )
    assert (answer.text, answer.usage.total_tokens) == ("Hi there", 3)
    assert "".join(heard) == "Hi there"
    assert len(answer.output) == 1


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_text.done", "text": "whole"}, completed()],
        [{"type": "response.output_item.done", "item": message_item("whole")}, completed()],
        [completed(message_item("whole"))],
        [delta("who"), completed(message_item("whole"))],
        [delta("who"), {"type": "response.output_text.done", "text": "whole"}, DONE],
        [delta("who"), delta("le"), completed({"type": "message", "content": []})],
        [{"type": "response.output_item.done", "item": message_item("whole")}],
        [delta("whole"), DONE],
        [delta("whole", item_id="a"), completed({**message_item("whole"), "id": "another"})],
        [
            delta("whole", content_index=0),
            completed({**message_item("whole"), "content": [{}, *message_item("whole")["content"]]}),
        ],
        [{"type": "response.output_item.done", "item": {"role": "assistant", "content": "whole"}}, completed()],
    ],
)
def test_text_comes_from_deltas_and_is_completed_from_later_events(events: list[Any]) -> None:
    answer, heard = read(*events)
    assert answer.text == "whole"
    assert "".join(heard) == "whole"
    assert len(answer.output) == 1


def test_two_messages_are_kept_apart_in_the_answer_and_in_the_live_text() -> None:
    first, second = message_item("One."), {**message_item("Two."), "id": "msg_2"}
    answer, heard = read(
        {"type": "response.output_item.added", "item": {**first, "content": []}, "output_index": 0},
        delta("One.", output_index=0),
        {"type": "response.output_item.done", "item": first, "output_index": 0},
        {"type": "response.output_item.added", "item": {**second, "content": []}, "output_index": 1},
        delta("Two.", output_index=1),
        completed(first, second),
    )
    assert answer.text == "".join(heard) == "One.\n\nTwo."


CALL = call_item("task_list", {"limit": 5})
ADDED = {"type": "response.output_item.added", "item": {**CALL, "arguments": "", "status": "in_progress"}}


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_item.done", "item": CALL}, completed()],
        [completed(CALL)],
        [ADDED, {"type": "response.output_item.done", "item": CALL, "output_index": 0}, completed(CALL)],
        [ADDED, {"type": "response.function_call_arguments.done", "arguments": '{"limit": 5}'}, completed()],
        [
            {**ADDED, "output_index": 0},
            {
                "type": "response.function_call_arguments.delta",
                "delta": '{"limit"',
                "output_index": 0,
                "item_id": "other",
            },
            {"type": "response.function_call_arguments.delta", "delta": ": 5}", "output_index": 0, "item_id": "other"},
            completed(),
        ],
        [ADDED, {"type": "response.function_call_arguments.done", "arguments": '{"limit": 5}', "item_id": "fc_1"}],
        [ADDED, {"type": "response.function_call_arguments.delta", "delta": '{"limit": 5}'}, DONE],
        [{"type": "response.output_item.done", "item": CALL}, completed(message_item(""))],
        [{"type": "response.output_item.done", "item": CALL}, completed({**CALL, "id": "fc_other"})],
        [
            {
                "type": "response.function_call_arguments.done",
                "arguments": '{"limit": 5}',
                "name": "task_list",
                "call_id": "call_1",
            }
        ],
    ],
)
def test_a_call_is_read_from_whichever_event_carries_it(events: list[Any]) -> None:
    answer, _ = read(*events)
    (call,) = answer.calls
    assert (call.call_id, call.name, call.arguments) == ("call_1", "task_list", '{"limit": 5}')
    assert [item["call_id"] for item in answer.output if item.get("type") == "function_call"] == ["call_1"]


def test_interleaved_calls_without_announcement_are_kept_apart() -> None:
    def arguments(item_id: str, text: str, kind: str = "delta") -> dict[str, Any]:
        field = "delta" if kind == "delta" else "arguments"
        return {"type": f"response.function_call_arguments.{kind}", field: text, "item_id": item_id}

    answer, _ = read(
        arguments("a", '{"x":'),
        arguments("b", '{"y":'),
        arguments("a", "1}"),
        arguments("b", "2}"),
        {**arguments("a", '{"x":1}', "done"), "name": "one", "call_id": "call_a"},
        {**arguments("b", '{"y":2}', "done"), "name": "two", "call_id": "call_b"},
        completed(),
    )
    assert [(call.name, call.arguments) for call in answer.calls] == [("one", '{"x":1}'), ("two", '{"y":2}')]


def test_interleaved_calls_with_only_an_index_are_kept_apart() -> None:
    events: list[dict[str, Any]] = [
        {"type": "response.function_call_arguments.delta", "delta": text, "output_index": index}
        for index, text in ((0, '{"x":'), (1, '{"y":'), (0, "1}"), (1, "2}"))
    ]
    done = {"type": "response.function_call_arguments.done"}
    answer, _ = read(*events, {**done, "name": "one", "output_index": 0}, {**done, "name": "two", "output_index": 1})
    assert [(call.name, call.arguments) for call in answer.calls] == [("one", '{"x":1}'), ("two", '{"y":2}')]


def test_missing_and_repeated_call_ids_are_replaced_the_same_way_for_equal_answers() -> None:
    nameless = {"type": "function_call", "name": "a", "arguments": {"x": 1}}
    events = completed(nameless, CALL, {**CALL, "id": "fc_2", "arguments": ""})
    answer, _ = read(events)
    ids = [call.call_id for call in answer.calls]
    assert len(set(ids)) == 3
    assert ids[1] == "call_1"
    assert [call.arguments for call in answer.calls] == ['{"x": 1}', '{"limit": 5}', "{}"]
    assert [item["call_id"] for item in answer.output] == ids
    assert read(events)[0] == answer


def test_reasoning_and_unknown_items_are_kept_raw_and_add_no_text() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hidden"}]}
    answer, heard = read(
        {"type": "response.output_item.done", "item": reasoning, "output_index": 0},
        {"type": "response.reasoning.delta", "delta": "hidden"},
        {"type": "vendor:thing", "x": 1},
        delta("Shown", output_index=1),
        completed(reasoning, message_item("Shown")),
    )
    assert (answer.text, heard) == ("Shown", ["Shown"])
    assert answer.output[0] == reasoning


def test_an_incomplete_answer_is_an_answer_with_its_reason() -> None:
    answer, _ = read(
        delta("Half a sen"),
        {
            "type": "response.incomplete",
            "response": {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [message_item("Half a sen"), {**CALL, "arguments": '{"lim'}],
            },
        },
    )
    assert (answer.text, answer.calls, answer.incomplete_reason) == ("Half a sen", (), "max_output_tokens")
    assert answer.output[-1]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_an_empty_but_finished_answer_is_an_answer() -> None:
    assert read(completed())[0].text == ""


@pytest.mark.parametrize(
    "events",
    [
        [],
        [DONE],
        ["not json at all", "[1, 2]"],
        [delta("Half a sen")],
        [ADDED],
        [ADDED, {"type": "response.function_call_arguments.delta", "delta": '{"lim'}, DONE],
        [{"type": "response.output_item.done", "item": message_item("Whole")}, ADDED],
        [completed({"type": "function_call", "call_id": "c", "arguments": "{}"})],
    ],
)
def test_a_stream_that_breaks_off_is_unreadable_and_retryable(events: list[Any]) -> None:
    fault = fault_of(*events)
    assert (fault.code, fault.retryable) == ("gateway_unreadable", True)


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"code": "server_error", "message": "boom"}, True),
        ({"code": "rate_limit_exceeded", "message": "slow"}, True),
        ({"code": 503, "message": "int code"}, True),
        ({"code": "429", "message": "digits"}, True),
        ({"type": "overloaded_error", "message": "type only"}, True),
        ({"message": "no code"}, True),
        ("plain text", True),
        ({"code": "invalid_prompt", "message": "no"}, False),
        ({"code": 400, "type": "invalid_request_error", "message": "no"}, False),
        ({"code": "insufficient_quota", "message": "pay"}, False),
    ],
)
def test_a_reported_failure_is_retryable_only_if_it_is_a_server_error(error: Any, retryable: bool) -> None:
    streams = [{"type": "response.failed", "response": {"status": "failed", "error": error}}, {"error": error}]
    streams.append({"type": "error", "error": error})
    if isinstance(error, dict) and "type" not in error:
        streams.append({"type": "error", **error})
    for event in streams:
        fault = fault_of(delta("Half"), event)
        assert (fault.code, fault.retryable) == ("gateway_failed", retryable)
    with pytest.raises(GatewayFault) as caught:
        AnswerReader(seed="", faults=FAULTS, on_text=print).read_whole(
            json.dumps({"status": "failed", "error": error}).encode()
        )
    assert caught.value.retryable is retryable


def test_a_refusal_is_a_fault_that_is_not_retryable() -> None:
    item = {**message_item(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    for events in ([completed(item)], [{"type": "response.refusal.done", "refusal": "I will not."}, completed()]):
        fault = fault_of(*events)
        assert (fault.code, fault.retryable) == ("model_refused", False)
        assert "I will not." in fault.message


@requirement("S0.x.secrets")
def test_a_key_repeated_by_the_server_is_removed_from_the_error() -> None:
    fault = fault_of({"error": {"code": "bad", "message": "Key sk-secret-key is\nwrong " + "x" * 900}})
    assert "sk-secret-key" not in fault.message
    assert "wrong" in fault.message
    assert "\n" not in fault.message
    assert len(fault.message) < 500


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"[]",
        b"null",
        b"{}",
        b'{"output": "text"}',
        b'{"status":"in_progress","output":[]}',
        b"[" * 100_000,
    ],
)
def test_a_body_without_a_finished_response_is_unreadable(body: bytes) -> None:
    with pytest.raises(GatewayFault) as caught:
        AnswerReader(seed="", faults=FAULTS, on_text=print).read_whole(body)
    assert (caught.value.code, caught.value.retryable) == ("gateway_unreadable", True)


def test_a_split_character_is_streamed_and_stored_whole() -> None:
    halves = "\ud83d", "\ude00"
    answer, heard = read(delta("Hi " + halves[0]), delta(halves[1] + "!"), DONE)
    assert answer.text == "".join(heard) == "Hi \U0001f600!"


def test_a_lone_half_of_a_character_is_replaced() -> None:
    said = message_item("odd \ude00 end"), {**call_item("look", {}), "call_id": "c-\ud83d"}
    answer, heard = read(delta("odd \ude00 end"), completed(*said))
    assert answer.text == "".join(heard) == "odd \ufffd end"
    assert answer.calls[0].call_id == "c-\ufffd"
    json.dumps(answer.output, ensure_ascii=False).encode()


def test_names_and_reasons_contain_no_nul_characters() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max\x00tokens" + "x" * 5_000}}
    answer, _ = read(completed({**call_item("lo\x00ok", {}), "call_id": "c\x001"}, **cut))
    (call,) = answer.calls
    assert (call.name, call.call_id) == ("look", "c1")
    assert (answer.output[0]["name"], answer.output[0]["call_id"]) == ("look", "c1")
    assert answer.incomplete_reason is not None
    assert answer.incomplete_reason.startswith("max tokens")
    assert len(answer.incomplete_reason) == 100


def test_figures_that_are_too_large_to_store_count_as_none() -> None:
    told = {"input_tokens": 10**30, "output_tokens": 2, "total_tokens": 10**19, "cost": 10**400}
    assert read(completed(usage=told))[0].usage == Usage(output_tokens=2, total_tokens=2)
    assert read(completed(usage={"cost": float("inf")}))[0].usage == Usage()


def test_odd_usage_counts_as_none() -> None:
    odd: list[Any] = [None, [], {"input_tokens": -1, "output_tokens": "7", "cost": "much"}]
    for usage in odd:
        assert read(completed(usage=usage))[0].usage == Usage()
    assert read(completed(usage={"prompt_tokens": 4, "completion_tokens": 1}))[0].usage.total_tokens == 5


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2)
)
_FIELDS = [
    "item",
    "delta",
    "text",
    "arguments",
    "item_id",
    "output_index",
    "content_index",
    "response",
    "part",
    "error",
]
_KINDS = [
    "response.created", "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.output_text.done", "response.content_part.done", "response.refusal.delta", "response.refusal.done",
    "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.completed",
    "response.incomplete", "response.failed", "error",
]  # fmt: skip
_ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "function_call", "reasoning"])},
    optional={"id": _VALUES, "call_id": _VALUES, "name": _VALUES, "arguments": _VALUES, "content": _VALUES},
)
_EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional={name: _VALUES | (_ITEMS if name in ("item", "part", "response") else st.nothing()) for name in _FIELDS},
)


@given(events=st.lists(_EVENTS, max_size=8))
def test_no_stream_however_odd_raises_anything_but_a_gateway_fault(events: list[dict[str, Any]]) -> None:
    try:
        answer, _ = read(*events)
    except GatewayFault:
        return
    assert len({call.call_id for call in answer.calls}) == len(answer.calls)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Fri, 01 Jan 2027 00:00:30 GMT", "date": "Fri, 01 Jan 2027 00:00:00 GMT"}, 30.0),
        ({"retry-after": "Fri, 01 Jan 2027 00:00:30 GMT"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "999999999"}, 3600.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_and_limited(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_an_error_that_is_not_an_object_counts_as_transient() -> None:
    assert is_transient(None)
    assert is_transient(["odd"])
