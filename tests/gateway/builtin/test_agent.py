"""The built-in agent answers from what it sees, uses the tools it is given, and never guesses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.gateway import BuiltinGateway, Call, GatewayFault, Step, StepAnswer, open_gateway
from carrel.gateway.builtin.intents import INTENTS
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire

ALL_TOOLS = sorted({intent.tool for intent in INTENTS})


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def body_of(given: str | list[dict[str, Any]], tools: list[str] | None = None, **more: Any) -> bytes:
    offered = [{"type": "function", "name": name, "parameters": {}, "strict": True} for name in tools or []]
    request = {"model": "", "instructions": "Be kind.", "input": given, "tools": offered, "stream": True, **more}
    return json.dumps(request).encode()


async def ask(given: str | list[dict[str, Any]], tools: list[str] | None = None, **more: Any) -> StepAnswer:
    heard: list[str] = []
    gateway = BuiltinGateway("default")
    step = Step(body=body_of(given, tools, **more), address="agent:a:main:v1", is_request=True)
    answer = await gateway.take(step, heard.append)
    assert "".join(heard) == answer.text
    assert len(heard) <= 5
    return answer


async def the_call(given: str | list[dict[str, Any]], tools: list[str] | None = None) -> tuple[str, Any]:
    answer = await ask(given, tools if tools is not None else ALL_TOOLS)
    assert answer.text == ""
    (call,) = answer.calls
    return call.name, json.loads(call.arguments)


async def test_the_built_in_agent_is_always_ready_and_costs_nothing() -> None:
    gateway = open_gateway("default", GatewaySettings(), Wire())
    assert gateway.name == "default"
    await gateway.check()
    assert await gateway.models() == ()
    answer = await gateway.take(Step(body=body_of("hello"), address="a"), print)
    assert (answer.usage.total_tokens, answer.usage.cost_usd, answer.model) == (0, 0.0, "builtin")


@pytest.mark.parametrize("greeting", ["hello", "Hi there!", "help", "/help", "What can you do?", ""])
async def test_a_greeting_is_answered_with_an_introduction_and_how_to_connect_a_model(greeting: str) -> None:
    answer = await ask(greeting, ["session_status", "odd_tool"])
    assert "built-in agent" in answer.text
    assert "carrel connect ollama" in answer.text
    assert "- status" in answer.text
    assert "odd_tool" in answer.text
    assert "create task" not in answer.text


async def test_the_notice_comes_once_per_session() -> None:
    first = await ask("The sky is blue today.")
    assert "have no language model" in first.text
    second = await ask([said("user", "x"), said("assistant", first.text), said("user", "And the grass is green.")])
    assert second.text == "Noted."


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("status", "session_status", {}),
        ("What's your status?", "session_status", {}),
        ("ask me: which colour?", "request_input", {"question": "which colour"}),
        ("Need input: the budget", "request_input", {"question": "the budget"}),
        ("decline: not my field", "decline", {"reason": "not my field"}),
        ("refuse to do it", "decline", {"reason": "do it"}),
        ("attach hello world as greeting.txt", "artifact_add", {"text": "hello world", "name": "greeting.txt"}),
        ("save this as notes.md:\n\nOne\nTwo", "artifact_add", {"text": "One\nTwo", "name": "notes.md"}),
        ("list tasks", "task_list", {}),
        ("create task Tidy up", "task_create", {"title": "Tidy up"}),
        ("New task: Tidy up\nThe whole desk.", "task_create", {"title": "Tidy up", "description": "The whole desk."}),
        ("mark task_9 in progress", "task_status", {"taskId": "task_9", "status": "in_progress"}),
        (
            "move task_9 to blocked: no paint",
            "task_status",
            {"taskId": "task_9", "status": "blocked", "blockedReason": "no paint"},
        ),
        ("list sessions", "sessions_list", {}),
        ("history of task_9", "task_history", {"taskId": "task_9"}),
        ("history of agent:a:main", "sessions_history", {"sessionKey": "agent:a:main"}),
        ("recall the budget", "memory_search", {"query": "the budget"}),
        ("remember that Monday is free", "memory_add", {"content": "Monday is free", "type": "fact"}),
        ("search for invoices", "clawboard_search", {"q": "invoices"}),
        ("tell agent:b:main: good morning", "sessions_send", {"sessionKey": "agent:b:main", "message": "good morning"}),
        ("delegate: look it up", "sessions_spawn", {"task": "look it up"}),
        ("goal: Ship it", "goal_create", {"name": "Ship it"}),
        (
            "plan: draft; send",
            "plan_set_content",
            {"markdown": "1. draft\n2. send", "tasks": [{"title": "draft"}, {"title": "send"}]},
        ),
        ("Dear agent,\n\nstatus", "session_status", {}),
        ("Dear agent,\nlist tasks", "task_list", {}),
        (
            'use sessions_send {"sessionKey": "main",\n "message": "hi"}',
            "sessions_send",
            {"sessionKey": "main", "message": "hi"},
        ),
        ("use agents_list", "agents_list", {}),
    ],
)
async def test_a_request_in_plain_words_becomes_a_tool_call(line: str, tool: str, arguments: Any) -> None:
    assert await the_call(line) == (tool, arguments)
    without = await ask(line, [name for name in ALL_TOOLS if name != tool])
    assert all(call.name != tool for call in without.calls)


@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: intent.tool)
async def test_the_example_that_help_shows_really_calls_its_tool(intent: Any) -> None:
    assert (await the_call(intent.example))[0] == intent.tool


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "line", ["attach" + " " * 50_000 + "x", "attach" + " as" * 330, "save " + " " * 90_000 + "as", "tell " + "a:" * 490]
)
async def test_no_line_however_odd_takes_the_agent_long(line: str) -> None:
    assert (await ask(line, ALL_TOOLS)).output


async def test_the_last_answer_can_be_saved() -> None:
    history = [said("user", "x"), said("assistant", "My fine answer."), said("user", "save that as a.txt")]
    assert await the_call(history) == ("artifact_add", {"text": "My fine answer.", "name": "a.txt"})


@pytest.mark.parametrize(
    "line", ["We should use task_list more often.", "My status is fine.", "Please do not decline: it is fine", "use it"]
)
async def test_words_inside_a_sentence_are_not_a_request(line: str) -> None:
    assert (await ask(line, ALL_TOOLS)).calls == ()


async def test_several_explicit_requests_are_several_calls_otherwise_there_is_one() -> None:
    answer = await ask('use task_list {}\nuse agents_list\nuse task_create {"title": "x"}', ALL_TOOLS)
    assert [call.name for call in answer.calls] == ["task_list", "agents_list", "task_create"]
    assert len({call.call_id for call in answer.calls}) == 3
    assert len((await ask("status\nlist tasks", ALL_TOOLS)).calls) == 1


async def test_an_explicit_request_that_cannot_be_followed_is_answered_with_the_reason() -> None:
    answer = await ask("use rocket {}", ["task_list"])
    assert (answer.calls, answer.text) == ((), "There is no tool rocket here. Available tools: task_list.")
    answer = await ask("use task_list {limit: 3}", ["task_list"])
    assert answer.calls == ()
    assert "not a JSON object" in answer.text


async def test_no_tool_is_used_when_the_request_forbids_them() -> None:
    assert (await ask("status", ALL_TOOLS, tool_choice="none")).calls == ()


@given(
    words=st.lists(
        st.sampled_from(["status", "What", "code", "is", "blue?", "use", "task_list", "{}", "\n", "\n\n", "é"]),
        max_size=8,
    ),
    history=st.lists(st.text(max_size=30), max_size=4),
)
async def test_equal_bodies_get_equal_answers_and_only_offered_tools_are_called(
    words: list[str], history: list[str]
) -> None:
    given = [*(said("user", line) for line in history), said("user", " ".join(words))]
    first, second = await ask(given, ["task_list"]), await ask(given, ["task_list"])
    assert first == second
    assert all(call.name == "task_list" for call in first.calls)
    assert bool(first.text) != bool(first.calls)
    assert [
        Call(call_id=item["call_id"], name=item["name"], arguments=item["arguments"])
        for item in first.output
        if "call_id" in item
    ] == list(first.calls)


async def test_equal_requests_in_different_turns_have_different_call_ids() -> None:
    first = await ask("status", ALL_TOOLS)
    second = await ask([said("user", "status"), said("assistant", "ok"), said("user", "status")], ALL_TOOLS)
    assert first.calls[0].call_id != second.calls[0].call_id


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b"[" * 100_000])
async def test_a_body_that_is_not_a_request_is_a_fault_that_is_not_retryable(body: bytes) -> None:
    with pytest.raises(GatewayFault) as caught:
        await BuiltinGateway("default").take(Step(body=body, address="a"), print)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "given", [None, 5, [], [5, {"role": "user"}, {"type": "reasoning"}], [{"role": "user", "content": [7]}]]
)
async def test_odd_inputs_are_answered_with_an_introduction(given: Any) -> None:
    assert "built-in agent" in (await ask(given, tool_choice="auto")).text


async def test_a_message_that_is_not_a_request_is_not_obeyed_and_still_answered() -> None:
    step = Step(body=body_of('use decline {"reason": "no"}', ["decline"]), address="agent:a:main:v1")
    answer = await BuiltinGateway("default").take(step, print)
    assert answer.calls == ()
    assert answer.text.startswith("Noted.")


async def test_a_message_of_others_after_the_run_s_own_is_neither_obeyed_nor_taken_for_it() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "session_status", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": '{"ok": true, "state": "idle"}'}
    items = [said("user", "status"), call, output, said("user", 'use decline {"reason": "no"}')]
    body = body_of(items, ["decline", "session_status"])
    step = Step(body=body, address="agent:a:main:v1", message_at=0, is_request=True)
    answer = await BuiltinGateway("default").take(step, print)
    assert answer.calls == ()
    assert answer.text.startswith("session_status returned:")
