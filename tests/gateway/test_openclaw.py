"""Steps at OpenClaw: what it takes, what it answers, and what it refuses; exchanges with the real one are replayed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from carrel.gateway import GatewayFault, Step, StepAnswer, read_sent
from carrel.gateway.openclaw.keys import address_of, key_at_gateway
from carrel.gateway.openclaw.lost import GO_ON
from carrel.kernel import OwnTraffic, SessionKey
from carrel.wire import Wire
from tests.gateway.dialects import TOOL, assistant, call, opened, output, step, user
from tests.openclaw_rules import refusal_of
from tests.scripted_gateway import ScriptedGateway, calls, raw, stream_of, text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.anyio
RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "openclaw-2026.9.6.json").read_text())
EXCHANGES = {one["name"]: one for one in RECORDED["exchanges"]}
FAILED_IN_STREAM = ("a model that fails", "a model that fails, not streamed")
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=", "detail": "auto"}
NOTES = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="}
ARCHIVE = {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,aGVsbG8="}


@pytest.fixture
def server() -> Iterator[ScriptedOpenClaw]:
    with ScriptedOpenClaw() as gateway:
        yield gateway


async def answered(
    server: ScriptedGateway, wire: Wire, taken: Step, heard: list[str] | None = None, **more: Any
) -> StepAnswer:
    return await opened("openclaw", server, wire, **more).take(taken, (heard if heard is not None else []).append)


async def fault_at(server: ScriptedGateway, wire: Wire, taken: Step, **more: Any) -> GatewayFault:
    with pytest.raises(GatewayFault) as raised:
        await answered(server, wire, taken, **more)
    return raised.value


def replay(server: ScriptedGateway, name: str) -> None:
    one = EXCHANGES[name]
    lines = one["answer"]
    body = json.dumps(lines) if one["type"] == "application/json" else "".join(_line(line) for line in lines)
    server.script(raw(body.encode(), content_type=one["type"], status=one["status"]))


def _line(line: str) -> str:
    return f"{line}\n" if line.startswith("event:") else f"{line}\n\n"


@pytest.mark.parametrize("name", [name for name in EXCHANGES if name not in FAILED_IN_STREAM])
def test_the_stand_in_refuses_exactly_what_the_real_gateway_refused(name: str) -> None:
    one = EXCHANGES[name]
    failed = one["status"] != 200 or any('"response.failed"' in line for line in one["answer"])
    headers = {"x-openclaw-session-key": one["session"]} | one["headers"]
    assert (refusal_of(headers, json.dumps(one["body"]).encode()) is not None) == failed


@pytest.mark.parametrize("name", ["an answer", "a streamed answer", "outputs of calls", "an image", "a file"])
async def test_a_recorded_answer_is_read(server: ScriptedOpenClaw, wire: Wire, name: str) -> None:
    replay(server, name)
    answer = await answered(server, wire, step([user("hello")]))
    assert (answer.text[:12], answer.calls) == ("I have heard", ())


async def test_recorded_calls_come_back_under_our_names(server: ScriptedOpenClaw, wire: Wire) -> None:
    replay(server, "two calls")
    answer = await answered(server, wire, step([user("hello")]))
    assert [(one.name, one.arguments) for one in answer.calls] == [
        ("task_get", '{"a":"1"}'),
        ("sessions_list", '{"a":"2"}'),
    ]
    assert [item["name"] for item in answer.output if item["type"] == "function_call"] == ["task_get", "sessions_list"]


@pytest.mark.parametrize(
    "name", ["a model that fails", "a tool of its own", "a tool of its own, streamed", "annotations"]
)
async def test_a_recorded_failure_is_a_fault(server: ScriptedOpenClaw, wire: Wire, name: str) -> None:
    replay(server, name)
    fault = await fault_at(server, wire, step([user("hello")]))
    assert not fault.retryable


async def test_everything_a_turn_can_contain_is_taken(server: ScriptedOpenClaw, wire: Wire) -> None:
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
    server.script(text("Taken."))
    answer = await answered(server, wire, step([*items, {"type": "reasoning", "summary": []}], **options))
    assert (server.refusals, answer.text, answer.left_out) == (
        [],
        "Taken.",
        ("an image (image/png)", "a.zip (application/zip)"),
    )


async def test_tools_are_sent_with_a_prefix_and_called_by_it(server: ScriptedOpenClaw, wire: Wire) -> None:
    tools = [TOOL | {"name": "sessions_list"}, TOOL]
    server.script(calls(("carrel_sessions_list", {})))
    answer = await answered(
        server, wire, step([user("hello")], tools=tools, tool_choice={"type": "function", "name": "task_list"})
    )
    sent = server.requests[0].json
    assert [tool["name"] for tool in sent["tools"]] == ["carrel_sessions_list", "carrel_task_list"]
    assert (sent["tool_choice"]["name"], answer.calls[0].name) == ("carrel_task_list", "sessions_list")
    assert "carrel_" in sent["instructions"]
    assert read_sent("openclaw", server.requests[0].body.decode()).tools == ("sessions_list", "task_list")


async def test_tools_for_sessions_can_be_left_to_openclaw(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.script(text("ok"))
    tools = [TOOL | {"name": "sessions_list"}, TOOL]
    await answered(server, wire, step([user("hello")], tools=tools), session_tools="openclaw")
    assert [tool["name"] for tool in server.requests[0].json["tools"]] == ["carrel_task_list"]


@pytest.mark.parametrize(
    "rest", ["main", "subagent:1", "cron:job", "task:T-1", "slack:channel:C1:thread:x", "node-acp"]
)
async def test_every_lane_has_a_key_that_is_taken_and_known_as_ours(
    server: ScriptedOpenClaw, wire: Wire, rest: str
) -> None:
    address = f"{SessionKey.of('writer', rest)}:v3@acme"
    server.script(text("ok"))
    await answered(server, wire, structs.replace(step([user("hello")]), address=address))
    (key,) = server.sessions
    assert (server.refusals, key.startswith("agent:main:carrel:")) == ([], True)
    assert (address_of(key), OwnTraffic.is_session(key)) == (address, True)


@given(st.from_regex(r"agent:[a-z]{1,5}:task:[A-Za-z0-9_.@-]{1,20}:v[1-9]", fullmatch=True))
def test_keys_differ_where_addresses_do_even_in_small_letters(address: str) -> None:
    key = key_at_gateway(address, "main")
    assert (key, address_of(key)) == (key.lower(), address)


@pytest.mark.parametrize(
    ("agents", "mapped", "asked_by", "model", "answers"),
    [
        (("main", "ops", "writer"), ("writer=ops",), "writer", "m", "ops"),
        (("main", "ops", "writer"), (), "writer", "openclaw/ops", "writer"),
        (("main", "ops", "writer"), (), "reader", "openclaw/ops", "ops"),
        (("ops", "main"), (), "reader", "m", "main"),
        (("ops", "clerk"), (), "", "openclaw/default", "ops"),
    ],
    ids=["mapped", "the same id", "named by the model", "the main one", "any"],
)
async def test_one_agent_of_openclaw_is_named_in_the_request_and_in_its_key(
    wire: Wire, agents: tuple[str, ...], mapped: tuple[str, ...], asked_by: str, model: str, answers: str
) -> None:
    with ScriptedOpenClaw(agents=agents) as server:
        server.script(text("ok"))
        await answered(server, wire, structs.replace(step(model=model), agent_id=asked_by), agents=mapped)
        (request,) = server.requests
        named = request.headers["x-openclaw-agent-id"], request.headers["x-openclaw-session-key"].split(":")[:2]
    assert named == (answers, ["agent", answers])


async def test_a_mapped_agent_that_openclaw_does_not_have_names_the_setting(
    server: ScriptedOpenClaw, wire: Wire
) -> None:
    fault = await fault_at(server, wire, step([user("hello")]), agents=("writer=ghost",))
    assert ("gateway.default.agents" in fault.message, fault.retryable) == (True, False)


async def test_another_model_is_asked_for_in_a_header(server: ScriptedOpenClaw, wire: Wire) -> None:
    for model in ("anthropic/claude", "openclaw/main", "default"):
        server.script(text("ok"))
        await answered(server, wire, step([user("hello")], model=model))
    named = [(request.json["model"], request.headers.get("x-openclaw-model")) for request in server.requests]
    assert named == [("openclaw", "anthropic/claude"), ("openclaw/main", None), ("openclaw", None)]


async def test_what_is_sent_is_kept_to_the_byte(server: ScriptedOpenClaw, wire: Wire) -> None:
    kept: list[bytes] = []

    async def keep(body: bytes) -> None:
        kept.append(body)

    server.script(text("ok"))
    await opened("openclaw", server, wire).take(step([user("hello")]), lambda _: None, keep)
    assert kept == [server.requests[0].body]


async def test_an_empty_answer_is_empty(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.script(text("No response from OpenClaw."))
    assert (await answered(server, wire, step([user("hello")]))).text == ""


async def test_older_versions_end_with_an_incomplete_response_that_calls(server: ScriptedOpenClaw, wire: Wire) -> None:
    item = {"type": "function_call", "id": "call_1", "call_id": "c1", "name": "carrel_task_list", "arguments": "{}"}
    ended = {"type": "response.completed", "response": {"status": "incomplete", "output": [item]}}
    server.script(stream_of(ended, "[DONE]"))
    assert [one.name for one in (await answered(server, wire, step([user("hello")]))).calls] == ["task_list"]


async def test_a_failure_that_says_it_is_completed_is_a_fault(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.script(stream_of({"type": "response.completed", "response": {"status": "failed", "output": []}}, "[DONE]"))
    assert (await fault_at(server, wire, step([user("hello")]))).code == "gateway_failed"


async def test_the_first_of_two_last_events_counts(server: ScriptedOpenClaw, wire: Wire) -> None:
    failed = {
        "type": "response.failed",
        "response": {"status": "failed", "error": {"code": "api_error", "message": "x"}},
    }
    server.script(stream_of(failed, {"type": "response.completed", "response": {"status": "completed", "output": []}}))
    assert (await fault_at(server, wire, step([user("hello")]))).retryable


async def test_an_endpoint_that_is_off_is_named(wire: Wire) -> None:
    with ScriptedOpenClaw() as server:
        server.models = raw(b"{}", status=404)
        with pytest.raises(GatewayFault, match=r"responses\.enabled"):
            await opened("openclaw", server, wire).check()


def lost(said: str, at: int) -> Step:
    return structs.replace(step([user(said)]), lost_at=at)


KEY_OF_STEP = "agent:main:carrel:writer~task~task_1~v2"


async def test_an_answer_that_was_lost_is_taken_from_the_history(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.histories[KEY_OF_STEP] = RECORDED["history"][:4]
    heard: list[str] = []
    answer = await answered(server, wire, lost("again", RECORDED["history"][2]["timestamp"] - 10), heard)
    assert (answer.text, heard, server.requests) == ("I have heard 3 messages.", [answer.text], [])


async def test_calls_that_were_lost_are_taken_from_the_history(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.histories[KEY_OF_STEP] = RECORDED["history"][:8]
    answer = await answered(server, wire, lost("CALL carrel_task_get", RECORDED["history"][4]["timestamp"]))
    assert ([one.name for one in answer.calls], server.requests) == (["task_get", "sessions_list"], [])


async def test_an_older_message_with_the_same_words_is_not_the_one_that_was_lost(
    server: ScriptedOpenClaw, wire: Wire
) -> None:
    server.histories[KEY_OF_STEP] = RECORDED["history"][:4]
    server.script(text("A new answer."))
    answer = await answered(server, wire, lost("again", RECORDED["history"][2]["timestamp"] + 60_000))
    assert answer.text == "A new answer."


async def test_work_that_was_begun_goes_on_and_is_not_asked_for_again(server: ScriptedOpenClaw, wire: Wire) -> None:
    begun = {"role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": "exec", "arguments": {}}]}
    server.histories[KEY_OF_STEP] = [*RECORDED["history"][:3], begun]
    server.script(text("Done."))
    await answered(server, wire, lost("again", RECORDED["history"][2]["timestamp"]))
    assert [item["content"][0]["text"] for item in server.requests[0].talk] == [GO_ON]


async def test_a_message_that_nothing_followed_is_sent_again(server: ScriptedOpenClaw, wire: Wire) -> None:
    server.histories[KEY_OF_STEP] = RECORDED["history"][:3]
    server.script(text("Done."))
    await answered(server, wire, lost("again", RECORDED["history"][2]["timestamp"]))
    assert [item["content"][0]["text"] for item in server.requests[0].talk] == ["again"]
