"""Steps at OpenClaw: what it takes, what it answers, and what it refuses; exchanges with the real one are replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrel.gateway import GatewayFault, Step, StepAnswer
from carrel.wire import Wire
from tests.gateway.dialects import assistant, call, opened, output, step, user
from tests.openclaw_rules import refusal_of
from tests.scripted_gateway import ScriptedGateway, raw, stream_of, text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.kinds("openclaw")
RECORDED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "recorded" / "openclaw-2026.9.6.json").read_text())
EXCHANGES = {one["name"]: one for one in RECORDED["exchanges"]}
FAILED_IN_STREAM = ("a model that fails", "a model that fails, not streamed")
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=", "detail": "auto"}
NOTES = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="}
ARCHIVE = {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,aGVsbG8="}


async def answered(
    gateway: ScriptedGateway, wire: Wire, taken: Step, heard: list[str] | None = None, **more: Any
) -> StepAnswer:
    return await opened("openclaw", gateway, wire, **more).take(taken, (heard if heard is not None else []).append)


async def fault_at(gateway: ScriptedGateway, wire: Wire, taken: Step, **more: Any) -> GatewayFault:
    with pytest.raises(GatewayFault) as raised:
        await answered(gateway, wire, taken, **more)
    return raised.value


def replay(gateway: ScriptedGateway, name: str) -> None:
    one = EXCHANGES[name]
    lines = one["answer"]
    body = json.dumps(lines) if one["type"] == "application/json" else "".join(_line(line) for line in lines)
    gateway.script(raw(body.encode(), content_type=one["type"], status=one["status"]))


def _line(line: str) -> str:
    return f"{line}\n" if line.startswith("event:") else f"{line}\n\n"


@pytest.mark.parametrize("name", [name for name in EXCHANGES if name not in FAILED_IN_STREAM])
def test_the_stand_in_refuses_exactly_what_the_real_gateway_refused(name: str) -> None:
    one = EXCHANGES[name]
    failed = one["status"] != 200 or any('"response.failed"' in line for line in one["answer"])
    headers = {"x-openclaw-session-key": one["session"]} | one["headers"]
    assert (refusal_of(headers, json.dumps(one["body"]).encode()) is not None) == failed


@pytest.mark.parametrize("name", ["an answer", "a streamed answer", "outputs of calls", "an image", "a file"])
async def test_a_recorded_answer_is_read(gateway: ScriptedOpenClaw, wire: Wire, name: str) -> None:
    replay(gateway, name)
    answer = await answered(gateway, wire, step([user("hello")]))
    assert (answer.text[:12], answer.calls) == ("I have heard", ())


async def test_recorded_calls_come_back_under_our_names(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    replay(gateway, "two calls")
    answer = await answered(gateway, wire, step([user("hello")]))
    assert [(one.name, one.arguments) for one in answer.calls] == [
        ("task_get", '{"a":"1"}'),
        ("sessions_list", '{"a":"2"}'),
    ]
    assert [item["name"] for item in answer.output if item["type"] == "function_call"] == ["task_get", "sessions_list"]


@pytest.mark.parametrize(
    "name", ["a model that fails", "a tool of its own", "a tool of its own, streamed", "annotations"]
)
async def test_a_recorded_failure_is_a_fault(gateway: ScriptedOpenClaw, wire: Wire, name: str) -> None:
    replay(gateway, name)
    fault = await fault_at(gateway, wire, step([user("hello")]))
    assert not fault.retryable


async def test_everything_a_turn_can_contain_is_taken(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    parts = [{"type": "input_text", "text": "kept"}, PICTURE]
    context = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Known."}]}
    items = [
        user("one"),
        assistant("two"),
        call("c1"),
        output("c1", parts),
        context,
        user(PICTURE, NOTES, ARCHIVE, "three"),
    ]
    options: dict[str, Any] = {
        "reasoning": {"effort": "minimal"},
        "text": {"format": {"type": "json_object"}},
        "parallel_tool_calls": True,
    }
    gateway.script(text("Taken."))
    answer = await answered(gateway, wire, step([*items, {"type": "reasoning", "summary": []}], **options))
    assert (gateway.refusals, answer.text, answer.left_out) == (
        [],
        "Taken.",
        ("an image (image/png)", "a.zip (application/zip)"),
    )


async def test_a_mapped_agent_that_openclaw_does_not_have_names_the_setting(
    gateway: ScriptedOpenClaw, wire: Wire
) -> None:
    fault = await fault_at(gateway, wire, step([user("hello")]), agents=("writer=ghost",))
    assert ("gateway.default.agents" in fault.message, fault.retryable) == (True, False)


async def test_another_model_is_asked_for_in_a_header(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    for model in ("anthropic/claude", "openclaw/main", "default"):
        gateway.script(text("ok"))
        await answered(gateway, wire, step([user("hello")], model=model))
    named = [(request.json["model"], request.headers.get("x-openclaw-model")) for request in gateway.requests]
    assert named == [("openclaw", "anthropic/claude"), ("openclaw/main", None), ("openclaw", None)]


async def test_what_is_sent_is_kept_to_the_byte(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    kept: list[bytes] = []

    async def keep(body: bytes) -> None:
        kept.append(body)

    gateway.script(text("ok"))
    await opened("openclaw", gateway, wire).take(step([user("hello")]), lambda _: None, keep)
    assert kept == [gateway.requests[0].body]


async def test_an_empty_answer_is_empty(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.script(text("No response from OpenClaw."))
    assert (await answered(gateway, wire, step([user("hello")]))).text == ""


async def test_older_versions_end_with_an_incomplete_response_that_calls(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    item = {"type": "function_call", "id": "call_1", "call_id": "c1", "name": "carrel_task_list", "arguments": "{}"}
    ended = {"type": "response.completed", "response": {"status": "incomplete", "output": [item]}}
    gateway.script(stream_of(ended, "[DONE]"))
    assert [one.name for one in (await answered(gateway, wire, step([user("hello")]))).calls] == ["task_list"]


async def test_a_failure_that_says_it_is_completed_is_a_fault(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.script(stream_of({"type": "response.completed", "response": {"status": "failed", "output": []}}, "[DONE]"))
    assert (await fault_at(gateway, wire, step([user("hello")]))).code == "gateway_failed"


async def test_the_first_of_two_last_events_counts(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    failed = {
        "type": "response.failed",
        "response": {"status": "failed", "error": {"code": "api_error", "message": "x"}},
    }
    gateway.script(stream_of(failed, {"type": "response.completed", "response": {"status": "completed", "output": []}}))
    assert (await fault_at(gateway, wire, step([user("hello")]))).retryable


async def test_an_endpoint_that_is_off_is_named(wire: Wire) -> None:
    with ScriptedOpenClaw() as gateway:
        gateway.models = raw(b"{}", status=404)
        with pytest.raises(GatewayFault, match=r"responses\.enabled"):
            await opened("openclaw", gateway, wire).check()
