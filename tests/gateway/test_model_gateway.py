"""What holds in Chat Completions and in the Messages API alike, against real servers."""

import asyncio

import pytest

from carrel.gateway import GatewayFault, Step, open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.gateway.dialects import (
    KEY,
    SERVERS,
    assistant,
    call,
    fault_of,
    opened,
    output,
    sent_by,
    step,
    take,
    user,
)
from tests.requirements.mark import requirement
from tests.scripted_gateway import (
    DROP,
    MODEL,
    Gate,
    ScriptedGateway,
    calls,
    dropped,
    http_error,
    raw,
    text,
)

pytestmark = pytest.mark.kinds(*SERVERS)


@pytest.mark.parametrize("stream", [True, False])
async def test_text_model_and_usage_arrive_streamed_or_not(
    kind: str, gateway: ScriptedGateway, wire: Wire, stream: bool
) -> None:
    gateway.script(text("One ", "two."))
    taken = await take(opened(kind, gateway, wire), step(stream=stream))
    assert (taken.answer.text, taken.answer.model) == ("One two.", MODEL)
    usage = taken.answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (11, 7, 18)
    assert taken.heard == (["One ", "two."] if stream else ["One two."])


async def test_plain_json_is_read_although_a_stream_was_requested(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Plain.", as_json=True))
    assert (await take(opened(kind, gateway, wire))).answer.text == "Plain."


@pytest.mark.parametrize("stream", [True, False])
async def test_parallel_calls_keep_their_ids_order_and_arguments(
    kind: str, gateway: ScriptedGateway, wire: Wire, stream: bool
) -> None:
    gateway.script(
        calls(("task_list", {"limit": 2}), ("agents_list", {}), ("task_list", {"q": "ä"}), said="Let me look.")
    )
    answer = (await take(opened(kind, gateway, wire), step(stream=stream))).answer
    found = [(call.name, call.arguments) for call in answer.calls]
    assert found == [("task_list", '{"limit": 2}'), ("agents_list", "{}"), ("task_list", '{"q": "\\u00e4"}')]
    assert [call.call_id for call in answer.calls] == ["call_1_1", "call_2_1", "call_3_1"]
    assert answer.text == "Let me look."


@requirement("P.receipt.true")
async def test_what_is_announced_before_it_is_sent_are_the_bytes_that_the_server_receives(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    taken = await take(opened(kind, gateway, wire), step([user("hé \U0001f43f \u2028")]))
    assert taken.sent == [gateway.requests[0].body]
    assert KEY.encode() not in gateway.requests[0].body


async def test_nothing_is_sent_if_it_cannot_be_kept_first(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    async def refuse(body: bytes) -> None:
        raise RuntimeError("the claim is lost")

    with pytest.raises(RuntimeError):
        await opened(kind, gateway, wire).take(step(), print, refuse)
    assert gateway.connections == 0


async def test_text_arrives_while_the_model_is_still_streaming(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gate, heard = Gate(), asyncio.Queue[str]()
    gateway.script(text("One ", gate, "two."))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(opened(kind, gateway, wire).take(step(), heard.put_nowait))
        assert await heard.get() == "One "
        assert not taking.done()
        gate.open()
    assert taking.result().text == "One two."


async def test_cancelling_a_step_hangs_up(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gate = Gate()
    gateway.script(text("One ", gate))
    taking = asyncio.create_task(take(opened(kind, gateway, wire)))
    await gate.reached()
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    gateway.wait_for_disconnects(1)


async def test_a_server_that_speaks_something_else_is_told_with_the_setting_to_change(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.path = "/v1/something-else"
    fault = await fault_of(opened(kind, gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_not_found", False)
    assert "Check gateway.default.base_url and .kind" in fault.message


async def test_a_stream_that_is_cut_off_is_tried_again(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("One ", DROP), dropped(), calls(("task_list", {"limit": 2})))
    for _ in range(2):
        fault = await fault_of(opened(kind, gateway, wire))
        assert (fault.code, fault.retryable) == ("gateway_unreadable", True)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"choices":[]}', b'{"content":"x"}'])
async def test_an_answer_without_content_is_unreadable_and_names_the_kind_of_server(
    kind: str, gateway: ScriptedGateway, wire: Wire, body: bytes
) -> None:
    gateway.script(raw(body))
    fault = await fault_of(opened(kind, gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_unreadable", True)
    assert {"chat": "a Chat Completions server", "anthropic": "the Anthropic Messages API"}[kind] in fault.message


async def test_the_key_never_appears_in_a_fault(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(http_error(400, f"the key {KEY} is not liked"))
    assert KEY not in (await fault_of(opened(kind, gateway, wire))).message


async def test_models_are_those_of_the_settings_and_then_those_that_the_server_lists(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    client = opened(kind, gateway, wire, model="mine", models=("other",))
    assert await client.models() == ("mine", "other", MODEL)
    await client.check()
    with pytest.raises(GatewayFault, match="cannot be reached"):
        await opened(kind, gateway, wire, base_url="http://127.0.0.1:9").check()


async def test_the_base_url_may_be_written_as_people_write_it(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.rule = lambda request: text("Yes.")
    path = gateway.path.removeprefix("/v1")
    for tail in ("", "/", "/v1", f"/v1{path}", f"/proxy/v1{path}/", "/proxy"):
        await take(opened(kind, gateway, wire, base_url=gateway.base_url + tail))
    assert {request.path for request in gateway.requests} == {f"/v1{path}", f"/proxy/v1{path}"}


async def test_a_step_of_one_text_has_the_same_form(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.rule = lambda request: text("Yes.")
    client = opened(kind, gateway, wire)
    assert await sent_by(client, gateway, step("hello")) == await sent_by(client, gateway, step([user("hello")]))


async def test_turns_alternate_and_begin_with_the_user(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    context = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Kept facts"}]}
    items = [assistant("A"), assistant("B"), user("one"), user(" "), context, user("two"), assistant(""), user("three")]
    sent = await sent_by(opened(kind, gateway, wire), gateway, step(items))
    messages = sent["messages"][1:] if kind == "chat" else sent["messages"]
    roles = ["user", "assistant", "user", *(["system", "user"] if kind == "chat" else [])]
    assert [message["role"] for message in messages] == roles
    assert "Earlier messages are not shown" in str(messages[0])
    shown = str(messages[2:])
    assert shown.index("one") < shown.index("Kept facts") < shown.index("two") < shown.index("three")


async def test_without_instructions_there_are_only_messages_of_user_and_model(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    context = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Kept facts"}]}
    sent = await sent_by(opened(kind, gateway, wire), gateway, step([context, user("go")], instructions=None))
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert "system" not in sent


async def test_the_outputs_of_calls_follow_right_behind_the_calls(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    gateway.script(text("Yes."))
    items = [user("go"), call("a"), call("b"), user("also"), output("a", "A"), output("b", "B"), user("now")]
    sent = await sent_by(opened(kind, gateway, wire), gateway, step(items))
    messages = [message for message in sent["messages"] if message["role"] != "system"]
    if kind == "chat":
        found = [(message["role"], message["content"]) for message in messages]
        assert found[2:] == [("tool", "A"), ("tool", "B"), ("user", "also\n\nnow")]
        assert [one["id"] for one in messages[1]["tool_calls"]] == ["a", "b"]
    else:
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        kinds = [block["type"] for block in messages[2]["content"]]
        assert kinds == ["tool_result", "tool_result", "text", "text"]


async def test_tools_that_are_not_allowed_are_not_offered(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    tools = [{"type": "function", "name": name, "parameters": None} for name in ("one", "two")]
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "two"}]}
    sent = await sent_by(opened(kind, gateway, wire), gateway, step(tools=tools, tool_choice=choice))
    (tool,) = sent["tools"]
    if kind == "chat":
        assert (tool["function"]["name"], sent["tool_choice"]) == ("two", "required")
    else:
        assert (tool["name"], sent["tool_choice"]) == ("two", {"type": "any"})


async def test_without_tools_none_are_named(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    sent = await sent_by(opened(kind, gateway, wire), gateway, step(tools=[]))
    assert not {"tools", "tool_choice"} & sent.keys()


async def test_a_base_url_that_leads_nowhere_is_refused_with_an_example(kind: str, wire: Wire) -> None:
    with pytest.raises(ValueError, match=r"gateway\.x\.base_url must be the address of a .* such as http"):
        open_gateway("x", GatewaySettings(kind=kind, base_url="http:///v1"), wire)  # type: ignore[arg-type]


async def test_a_body_that_is_not_a_request_reaches_no_server(kind: str, gateway: ScriptedGateway, wire: Wire) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        await take(opened(kind, gateway, wire), Step(body=b"[]", address="a"))
    assert gateway.connections == 0
