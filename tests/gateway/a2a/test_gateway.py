"""Steps sent to a remote A2A agent, and the answers they return.

The remote is the official SDK's server, with every binding it supports.
"""

import asyncio
import base64
import json
from typing import Any

import pytest
from a2a.types import Part
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from carrel.gateway import Gateway, GatewayFault, Step, StepAnswer, open_gateway
from carrel.kernel.limits import TOOL_CALLS_PER_ROUND_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.scripted_gateway import Gate
from tests.sdk_agent import Remote, SdkAgent, Turn

KEY = "key-of-the-remote-0123456789"
ADDRESS = "agent:writer:task:task_1:v2"
DIALECTS: dict[str, dict[str, Any]] = {
    "json-rpc 1.0": {},
    "json-rpc 1.0, not streaming": {"streaming": False},
    "http+json 1.0": {"interfaces": [("GRPC", "1.0"), ("HTTP+JSON", "1.0")]},
    "http+json 1.0, not streaming": {"interfaces": [("HTTP+JSON", "1.0")], "streaming": False},
    "json-rpc 0.3": {"interfaces": [("JSONRPC", "0.3")]},
    "json-rpc 0.3, not streaming": {"interfaces": [("JSONRPC", "0.3")], "streaming": False, "old_card": True},
}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


def opened(agent: SdkAgent, wire: Wire, **more: Any) -> Gateway:
    return open_gateway("remote", GatewaySettings(kind="a2a", **({"base_url": agent.url} | more)), wire)


def said(text: str, *before: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [*before, {"type": "input_text", "text": text}]}


def step_of(*items: dict[str, Any], run: str = "run_1", session: str = "ses_1", address: str = ADDRESS) -> Step:
    body = {"model": "default", "input": items, "metadata": {"runId": run, "sessionId": session}}
    return Step(body=json.dumps(body).encode(), address=address, agent_id="writer")


def made(answer: StepAnswer, *outputs: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of the next step after the calls of an answer were made."""
    given = outputs or ({"ok": True},) * len(answer.calls)
    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(output)}
        for call, output in zip(answer.calls, given, strict=True)
    ]
    return [*answer.output, *results]


async def take(gateway: Gateway, *items: dict[str, Any], heard: list[str] | None = None, **more: Any) -> StepAnswer:
    async with asyncio.timeout(20):
        return await gateway.take(step_of(*items, **more), (heard if heard is not None else []).append)


async def fault_of(gateway: Gateway, *items: dict[str, Any]) -> GatewayFault:
    with pytest.raises(GatewayFault) as caught:
        await take(gateway, *(items or [said("hello")]))
    return caught.value


def message_of(agent: SdkAgent, place: int = 0) -> dict[str, Any]:
    """The message that reached the remote over JSON-RPC."""
    sent = [call for call in agent.calls if call.method in ("SendMessage", "SendStreamingMessage")]
    message: dict[str, Any] = sent[place].body["params"]["message"]
    return message


@each_dialect
async def test_the_reply_is_the_text_of_the_remotes_artifacts(
    remote: Remote, wire: Wire, dialect: dict[str, Any]
) -> None:
    agent, heard = remote(**dialect), list[str]()
    answer = await take(opened(agent, wire), said("hello, wörld"), heard=heard)
    assert (answer.text, answer.calls, answer.model) == ("You said: hello, wörld", (), "Echo")
    assert "".join(heard) == answer.text
    assert len(agent.methods()) == 1


@pytest.mark.parametrize("tail", ["", "/", "/.well-known/agent-card.json"])
async def test_the_base_url_may_be_the_agents_or_its_cards(remote: Remote, wire: Wire, tail: str) -> None:
    agent = remote()
    assert (await take(opened(agent, wire, base_url=agent.url + tail), said("hi"))).text == "You said: hi"


async def test_a_card_is_read_once_and_again_after_a_fault(remote: Remote, wire: Wire) -> None:
    async def fail(turn: Turn) -> None:
        await turn.updater.failed()

    agent = remote()
    gateway = opened(agent, wire)
    await take(gateway, said("one"))
    await take(gateway, said("two"))
    assert [call.method for call in agent.calls].count("card") == 1
    agent.play = fail
    await fault_of(gateway)
    await fault_of(gateway)
    assert [call.method for call in agent.calls].count("card") == 2


async def test_text_arrives_while_the_remote_is_still_streaming(remote: Remote, wire: Wire) -> None:
    gate, heard = Gate(), asyncio.Queue[str]()

    async def speak(turn: Turn) -> None:
        add = turn.updater.add_artifact
        await add([Part(text="One ")], artifact_id="a")
        await gate.passed()
        await add([Part(text="two.")], artifact_id="a", append=True, last_chunk=True)
        await add([Part(text="Three.")], artifact_id="b")
        await turn.updater.complete()

    gateway = opened(remote(speak), wire)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(gateway.take(step_of(said("count")), heard.put_nowait))
        assert await heard.get() == "One "
        assert not taking.done()
        gate.open()
    assert taking.result().text == "One two.\n\nThree."
    assert [heard.get_nowait() for _ in range(heard.qsize())] == ["two.", "\n\nThree."]


async def test_only_the_message_goes_to_the_remote_and_not_what_is_for_models(remote: Remote, wire: Wire) -> None:
    agent = remote()
    anchor = {"type": "input_text", "text": "[message ent_1 · task task_1]"}
    earlier = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Earlier."}]}
    answer = await take(opened(agent, wire), said("before"), earlier, said("now", anchor))
    assert answer.text == "You said: now"
    assert message_of(agent)["parts"] == [{"text": "now"}]
    assert "agent:writer" not in json.dumps(message_of(agent))


async def test_a_string_as_input_is_the_message(remote: Remote, wire: Wire) -> None:
    gateway = opened(remote(), wire)
    step = Step(body=b'{"input": "plain", "metadata": {"runId": "run_1"}}', address=ADDRESS)
    assert (await gateway.take(step, print)).text == "You said: plain"


async def test_a_generation_is_one_context_and_a_repeated_step_the_same_message(remote: Remote, wire: Wire) -> None:
    agent = remote()
    gateway = opened(agent, wire)
    taken: list[dict[str, Any]] = [
        {},
        {},
        {"run": "run_2"},
        {"run": "run_3", "address": ADDRESS.replace("v2", "v3"), "session": "ses_2"},
        {"run": "run_4", "session": "ses_of_another_house"},
    ]
    for more in taken:
        await take(gateway, said("hello"), **more)
    messages = [message_of(agent, place) for place in range(5)]
    contexts = [message["contextId"] for message in messages]
    assert contexts[0] == contexts[1] == contexts[2]
    assert len(set(contexts)) == 3
    ids = [message["messageId"] for message in messages]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


@each_dialect
async def test_files_of_a_message_are_sent_unchanged(remote: Remote, wire: Wire, dialect: dict[str, Any]) -> None:
    got: list[dict[str, Any]] = []

    async def look(turn: Turn) -> None:
        got.extend(MessageToDict(part) for part in turn.parts)
        await turn.updater.complete(turn.words("Seen."))

    picture = base64.b64encode(b"\x89PNG").decode()
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{picture}", "detail": "auto"}
    paper = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{picture}"}
    answer = await take(opened(remote(look, **dialect), wire), said("look", image, paper))
    assert answer.text == "Seen."
    assert got[0] == {"raw": picture, "mediaType": "image/png"}
    assert got[1] == {"raw": picture, "mediaType": "application/pdf", "filename": "a.pdf"}
    assert got[2] == {"text": "look"}


async def test_without_artifacts_the_reply_is_the_last_status_message(remote: Remote, wire: Wire) -> None:
    async def finish(turn: Turn) -> None:
        await turn.updater.start_work(turn.words("Working on it."))
        await turn.updater.complete(turn.words("All done."))

    heard: list[str] = []
    answer = await take(opened(remote(finish), wire), said("go"), heard=heard)
    assert (answer.text, heard) == ("All done.", ["All done."])


@each_dialect
async def test_a_remote_that_creates_no_task_answers_with_its_message(
    remote: Remote, wire: Wire, dialect: dict[str, Any]
) -> None:
    async def greet(turn: Turn) -> None:
        await turn.say(Part(text="Good day."))

    heard: list[str] = []
    answer = await take(opened(remote(greet, makes_tasks=False, **dialect), wire), said("hello"), heard=heard)
    assert (answer.text, heard) == ("Good day.", ["Good day."])


@each_dialect
async def test_a_question_becomes_ours_and_its_answer_goes_to_the_same_task(
    remote: Remote, wire: Wire, dialect: dict[str, Any]
) -> None:
    async def ask(turn: Turn) -> None:
        if turn.context.current_task is None:
            await turn.updater.requires_input(turn.words("Which one?"))
        else:
            await turn.updater.add_artifact([Part(text=f"Taking {turn.text}.")])
            await turn.updater.complete()

    agent = remote(ask, **dialect)
    gateway = opened(agent, wire)
    first = said("take one")
    asked = await take(gateway, first)
    (call,) = asked.calls
    assert (call.name, json.loads(call.arguments)) == ("request_input", {"question": "Which one?", "kind": "input"})
    question = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Which one?"}]}
    items = [first, *made(asked), question, said("the red one")]
    answered = await take(gateway, *items)
    assert answered.text == "Taking the red one."
    again = await take(gateway, *items)
    assert again.text == "Taking the red one.", "a step taken again finds what came of it"
    sends = [method for method in agent.methods() if "message" in method.lower()]
    assert len(sends) == 2


async def test_a_repeated_step_does_not_send_its_answer_to_the_next_question(remote: Remote, wire: Wire) -> None:
    async def ask(turn: Turn) -> None:
        await turn.updater.requires_input(turn.words(f"And after {turn.text}?"))

    agent = remote(ask)
    gateway = opened(agent, wire)
    first = said("one")
    asked = await take(gateway, first)
    items = [first, *made(asked), said("two")]
    once, twice = await take(gateway, *items), await take(gateway, *items)
    assert json.loads(once.calls[0].arguments)["question"] == "And after two?"
    assert once.calls == twice.calls
    assert once.calls[0].call_id != asked.calls[0].call_id
    assert agent.methods().count("SendStreamingMessage") == 2


async def test_an_authorization_is_asked_for_with_the_link_to_it(remote: Remote, wire: Wire) -> None:
    async def ask(turn: Turn) -> None:
        parts = [Part(text="Sign in:"), Part(url="https://login.example/x")]
        await turn.updater.requires_auth(turn.updater.new_agent_message(parts))

    (call,) = (await take(opened(remote(ask), wire), said("go"))).calls
    assert json.loads(call.arguments) == {"question": "Sign in:\nhttps://login.example/x", "kind": "auth"}


async def test_an_empty_question_and_one_that_may_not_be_asked_still_make_sense(remote: Remote, wire: Wire) -> None:
    async def ask(turn: Turn) -> None:
        await turn.updater.requires_input()

    gateway = opened(remote(ask), wire)
    first = said("go")
    asked = await take(gateway, first)
    question = json.loads(asked.calls[0].arguments)["question"]
    assert "needs more information" in question
    refused = made(asked, {"ok": False, "error": {"code": "tool_not_allowed"}})
    assert (await take(gateway, first, *refused)).text == question


async def test_a_refusal_becomes_ours_or_a_fault_if_that_is_not_allowed(remote: Remote, wire: Wire) -> None:
    async def refuse(turn: Turn) -> None:
        await turn.updater.reject(turn.words("Not my business."))

    gateway = opened(remote(refuse), wire)
    first = said("go")
    answer = await take(gateway, first)
    (call,) = answer.calls
    assert (call.name, json.loads(call.arguments)) == ("decline", {"reason": "Not my business."})
    fault = await fault_of(gateway, first, *made(answer, {"ok": False}))
    assert (fault.code, fault.retryable) == ("remote_rejected", False)


@each_dialect
async def test_a_failure_has_its_reason_and_is_not_retryable(
    remote: Remote, wire: Wire, dialect: dict[str, Any]
) -> None:
    async def fail(turn: Turn) -> None:
        await turn.updater.failed(turn.words("The printer is on fire."))

    fault = await fault_of(opened(remote(fail, **dialect), wire))
    assert (fault.code, fault.retryable) == ("remote_failed", False)
    assert "The printer is on fire." in fault.message


@each_dialect
async def test_what_is_not_text_is_kept_first_and_the_text_comes_after(
    remote: Remote, wire: Wire, dialect: dict[str, Any]
) -> None:
    async def draw(turn: Turn) -> None:
        add = turn.updater.add_artifact
        await add([Part(text="Here ")], artifact_id="words")
        structured = ParseDict({"width": 2.0}, Value())
        file = Part(raw=b"\x89PNG", media_type="image/png", filename="a.png")
        await add([file, Part(data=structured)], artifact_id="picture", name="Picture")
        await add([Part(text="it is.")], artifact_id="words", append=True)
        await add([Part(url="https://example.com/b.png", media_type="image/png")], artifact_id="link")
        await turn.updater.complete()

    agent, heard = remote(draw, **dialect), list[str]()
    gateway = opened(agent, wire)
    first = said("draw")
    answer = await take(gateway, first, heard=heard)
    assert [call.name for call in answer.calls] == ["artifact_add"] * 3
    assert [json.loads(call.arguments) for call in answer.calls] == [
        {
            "dataBase64": base64.b64encode(b"\x89PNG").decode(),
            "filename": "a.png",
            "mediaType": "image/png",
            "name": "Picture",
        },
        {"data": {"width": 2.0}, "name": "Picture"},
        {"url": "https://example.com/b.png", "mediaType": "image/png"},
    ]
    assert "".join(heard).startswith("Here ")
    silent: list[str] = []
    rest = await take(gateway, first, *made(answer), heard=silent)
    assert (rest.text, rest.calls, silent) == ("Here it is.", (), [])


async def test_files_beyond_the_limit_of_one_round_are_kept_in_the_next(remote: Remote, wire: Wire) -> None:
    async def pour(turn: Turn) -> None:
        links = [Part(url=f"https://example.com/{number}") for number in range(TOOL_CALLS_PER_ROUND_MAX + 2)]
        await turn.updater.add_artifact(links)
        await turn.updater.complete(turn.words("That is all."))

    gateway = opened(remote(pour), wire)
    items = [said("all of them")]
    rounds = []
    for _ in range(3):
        rounds.append(await take(gateway, *items))
        items += made(rounds[-1])
    assert [len(answer.calls) for answer in rounds] == [TOOL_CALLS_PER_ROUND_MAX, 2, 0]
    assert rounds[-1].text == "That is all."


async def test_files_come_before_a_question_and_are_kept_once(remote: Remote, wire: Wire) -> None:
    async def ask(turn: Turn) -> None:
        if turn.context.current_task is None:
            await turn.updater.add_artifact([Part(url="https://example.com/draft")], artifact_id="draft")
            await turn.updater.requires_input(turn.words("Good?"))
        else:
            await turn.updater.complete(turn.words("Kept."))

    gateway = opened(remote(ask), wire)
    first = said("draft it")
    asked = await take(gateway, first)
    assert [call.name for call in asked.calls] == ["artifact_add", "request_input"]
    done = await take(gateway, first, *made(asked), said("yes"))
    assert (done.text, done.calls) == ("Kept.", ())


async def test_files_in_a_bare_message_are_kept_and_its_text_is_not_lost(remote: Remote, wire: Wire) -> None:
    async def give(turn: Turn) -> None:
        await turn.say(Part(text="Look:"), Part(raw=b"abc", filename="a.txt"))

    agent = remote(give, makes_tasks=False)
    gateway = opened(agent, wire)
    first = said("show")
    answer = await take(gateway, first)
    assert [json.loads(call.arguments) for call in answer.calls] == [
        {"text": "Look:", "name": "message"},
        {"dataBase64": "YWJj", "filename": "a.txt", "name": "a.txt"},
    ]
    assert (await take(gateway, first, *made(answer))).text == "Look:"
    assert len(agent.methods()) == 1


async def test_text_that_cannot_be_stored_is_repaired(remote: Remote, wire: Wire) -> None:
    async def ask(turn: Turn) -> None:
        await turn.updater.requires_input(turn.words("Which\x00one?" + "!" * 9000))

    (call,) = (await take(opened(remote(ask), wire), said("go"))).calls
    question = json.loads(call.arguments)["question"]
    assert question.startswith("Whichone?")
    assert len(question) == 4000


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("interface", [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0")], ids=str)
async def test_cancelling_a_step_cancels_the_remote_task(
    remote: Remote, wire: Wire, streaming: bool, interface: tuple[str, str]
) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await turn.updater.start_work()
        await gate.passed()

    agent = remote(dawdle, streaming=streaming, interfaces=[interface])
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(opened(agent, wire).take(step_of(said("take your time")), print))
        await gate.reached()
        taking.cancel()
    assert taking.cancelled()
    assert any("ancel" in method for method in agent.methods())
    gate.open()


async def test_a_remote_that_cannot_be_cancelled_blocks_nobody(remote: Remote, wire: Wire) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await gate.passed()

    agent = remote(dawdle, interfaces=[("JSONRPC", "0.3")], streaming=False)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(opened(agent, wire).take(step_of(said("slowly")), print))
        await gate.reached()
        taking.cancel()
    assert taking.cancelled()
    gate.open()


async def test_a_remote_task_that_times_out_is_cancelled_and_not_started_again(remote: Remote, wire: Wire) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await turn.updater.start_work()
        await gate.passed()

    agent = remote(dawdle)
    fault = await fault_of(opened(agent, wire, timeout_seconds=1))
    assert (fault.code, fault.retryable) == ("gateway_timeout", False)
    assert "gateway.remote.timeout_seconds" in fault.message
    assert agent.methods() == ["SendStreamingMessage", "CancelTask"]
    gate.open()


async def test_the_key_is_sent_as_a_bearer_token_and_a_missing_one_names_the_setting(
    remote: Remote, wire: Wire
) -> None:
    agent = remote(token=KEY)
    assert (await take(opened(agent, wire, api_key=KEY), said("hi"))).text == "You said: hi"
    keyless = opened(agent, wire)
    fault = await fault_of(keyless)
    assert (fault.code, fault.retryable) == ("gateway_unauthorized", False)
    assert "gateway.remote.api_key" in fault.message
    with pytest.raises(GatewayFault):
        await keyless.check()
    await opened(agent, wire, api_key=KEY).check()


async def test_an_unreachable_remote_is_a_retryable_fault_and_fails_the_check(wire: Wire) -> None:
    with SdkAgent() as agent:
        gateway = opened(agent, wire)
        await gateway.check()
        assert await gateway.models() == ()
    with pytest.raises(GatewayFault):
        await gateway.check()
    fault = await fault_of(gateway)
    assert (fault.code, fault.retryable) == ("gateway_unreachable", True)
    assert "gateway.remote.base_url" in fault.message


async def test_a_card_without_a_usable_interface_says_what_is_supported(remote: Remote, wire: Wire) -> None:
    agent = remote(interfaces=[("GRPC", "1.0"), ("JSONRPC", "2.7")])
    fault = await fault_of(opened(agent, wire))
    assert (fault.code, fault.retryable) == ("gateway_misconfigured", False)
    assert "GRPC 1.0" in fault.message
    assert "JSONRPC 1.0" in fault.message


async def test_a_card_that_is_missing_names_the_setting(remote: Remote, wire: Wire) -> None:
    agent = remote()
    fault = await fault_of(opened(agent, wire, base_url=agent.url + "/nowhere/at/all"))
    assert (fault.code, fault.retryable) == ("gateway_not_found", False)
    assert "gateway.remote.base_url" in fault.message


@pytest.mark.parametrize("base_url", ["", "not an address", "http://"])
async def test_a_base_url_that_cannot_work_is_refused_at_the_start(wire: Wire, base_url: str) -> None:
    with pytest.raises(ValueError, match=r"gateway\.remote\.base_url must be the address of an A2A agent"):
        open_gateway("remote", GatewaySettings(kind="a2a", base_url=base_url), wire)


async def test_a_message_of_others_after_the_run_s_own_is_not_sent(remote: Remote, wire: Wire) -> None:
    agent = remote()
    items = [said("mine"), said("of another run")]
    step = Step(body=json.dumps({"input": items}).encode(), address=ADDRESS, message_at=0)
    assert (await opened(agent, wire).take(step, print)).text == "You said: mine"
