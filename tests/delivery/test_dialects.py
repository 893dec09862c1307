"""Whole turns over Chat Completions and the Messages API: tools, limits and receipts as over Open Responses."""

import asyncio
import random
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import combinations
from typing import Any

import msgspec
import pytest

from carrel.agents import change_agent, require_agent
from carrel.delivery import compare_receipts
from carrel.kernel import NewAttachment
from carrel.kernel.settings import MemorySettings, Settings
from carrel.runs import Run
from carrel.storage import Tx
from tests.gateway.dialects import KINDS, SERVERS
from tests.harness.server import Server, gateways_to, open_server, tuned
from tests.memory.places import Notebook
from tests.requirements.mark import requirement
from tests.scripted_dialects import SIGNATURE, thought_item
from tests.scripted_gateway import (
    Answer,
    Gate,
    Request,
    ScriptedGateway,
    call_item,
    calls,
    dropped,
    http_error,
    text,
)
from tests.sdk_agent import SdkAgent, Turn

pytestmark = pytest.mark.kinds(*SERVERS)
every_kind = pytest.mark.kinds(*KINDS)
FILES = [
    NewAttachment(name="a.png", mime_type="image/png", content=b"\x89PNG!"),
    NewAttachment(name="a.zip", mime_type="application/zip", content=b"PK"),
    NewAttachment(name="ä.md", mime_type="text/markdown", content="# ä \u2028".encode()),
    NewAttachment(name="a.pdf", mime_type="application/pdf", content=b"%PDF-"),
]


def messages(request: Request) -> list[dict[str, Any]]:
    """Return the messages of a request, without the instructions that one dialect has among them."""
    found: list[dict[str, Any]] = request.json.get("messages") or request.json["input"]
    return found[1:] if found[0]["role"] == "system" else found


async def assert_true(server: Server, run: Run, requests: list[Request]) -> None:
    """Assert that the receipt of a run has the bytes that the server received, and nothing else."""
    receipt = await server.receipt(run, with_body=True)
    assert [str(step.body).encode() for step in receipt.steps] == [request.body for request in requests]
    assert [step.body_sha256 for step in receipt.steps] == [sha256(request.body).hexdigest() for request in requests]


@requirement("P.receipt.true")
async def test_three_turns_with_a_tool_call_are_one_conversation(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    gateway.script(
        text("Hello Olga."),
        calls(("session_status", {}), ("session_status", {}), said="One moment."),
        text("All ", "is well."),
        text("You are Olga."),
    )
    runs = [await server.ask(said) for said in ("I am Olga", "how do you stand?", "who am I?")]
    assert [run.reply for run in runs] == ["Hello Olga.", "All is well.", "You are Olga."]
    assert [len((await server.receipt(run)).steps) for run in runs] == [1, 2, 1]
    for run, requests in zip(runs, (gateway.requests[:1], gateway.requests[1:3], gateway.requests[3:]), strict=True):
        await assert_true(server, run, requests)
    looped, last = messages(gateway.requests[2]), str(messages(gateway.requests[3]))
    assert str(looped).count("sessionKey") >= 2, "both results went back"
    for said in ("I am Olga", "Hello Olga.", "how do you stand?", "All is well.", "who am I?"):
        assert said in last
    assert "One moment." not in last, "what was said beside calls is no reply"
    assert msgspec.json.decode(runs[1].usage or "{}")["totalTokens"] == 36


async def test_the_model_is_told_instructions_and_tools_and_the_receipt_says_so(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Good."))
    run = await server.ask("hello", "task:task_1")
    (step,) = (await server.receipt(run)).steps
    sent = gateway.requests[0].json
    assert step.instructions
    assert step.instructions in (sent["messages"][0]["content"], sent.get("system", [{}])[0].get("text"))
    assert (step.instructions_sha256, step.left_out) == (run.instructions_sha256, [])
    assert step.tools == [tool.get("name") or tool["function"]["name"] for tool in sent["tools"]]
    assert "memory_search" in step.tools
    assert "hello" in str(step.input)
    assert step.output[0]["content"][0]["text"] == "Good."


async def test_the_model_is_shown_what_is_remembered(server: Server, gateway: ScriptedGateway) -> None:
    await server.make_task("t1")
    await Notebook(server).keep("We paint it green", "task:t1", type="result")
    gateway.script(text("Green."))
    run = await server.ask("which colour do we paint it?", "task:t1")
    shown = str(messages(gateway.requests[0]))
    assert 0 <= shown.index("We paint it green") < shown.rindex("which colour do we paint it?")
    (step,) = (await server.receipt(run)).steps
    assert "We paint it green" in step.context.block


async def test_a_remote_agent_is_shown_nothing_that_is_remembered(sqlite_url: str) -> None:
    async def tell(turn: Turn) -> None:
        await turn.updater.complete(turn.words("Blue."))

    with SdkAgent(tell) as agent:
        async with open_server(sqlite_url, gateways_to(ScriptedAddress(agent.url), kind="a2a")) as server:
            await server.make_task("t1")
            await Notebook(server).keep("We paint it green", "task:t1", type="result")
            run = await server.ask("which colour do we paint it?", "task:t1")
            (step,) = (await server.receipt(run)).steps
    assert run.reply == "Blue."
    assert step.context.items == []


class ScriptedAddress(ScriptedGateway):
    """An address in place of a scripted server."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url


@pytest.mark.parametrize("stream", [True, False])
async def test_what_a_model_thought_goes_back_while_it_makes_calls_and_not_after(
    store_url: str, kind: str, gateway: ScriptedGateway, stream: bool
) -> None:
    thinking = Answer(output=[thought_item("I should look."), call_item("session_status", {})])
    again = Answer(output=[thought_item("Once more."), call_item("session_status", {})])
    gateway.script(thinking, again, text("Done."), text("Yes."))
    async with open_server(store_url, gateways_to(gateway, kind=kind, stream=stream)) as server:
        run = await server.ask("look")
        await server.ask("sure?")
        await assert_true(server, run, gateway.requests[:3])
    second, third, later = (messages(request) for request in gateway.requests[1:])
    for shown, thought in ((second[1], "I should look."), (third[1], "I should look."), (third[3], "Once more.")):
        if kind == "chat":
            assert shown["reasoning_content"] == thought
        else:
            assert shown["content"][0] == {"type": "thinking", "thinking": thought, "signature": SIGNATURE}
    assert "I should look." not in str(later)


@pytest.mark.parametrize("successor", KINDS)
@pytest.mark.parametrize("first", KINDS)
async def test_thoughts_go_only_to_the_kind_of_gateway_that_they_came_from_and_knows_their_form(
    sqlite_url: str, first: str, successor: str
) -> None:
    gate = Gate()
    with KINDS[first]() as one, KINDS[successor]() as other:
        one.script(Answer(output=[thought_item("I should look."), call_item("session_status", {})], before=gate))
        # Its agent has another gateway by then, which the next attempt is sent to.
        one.script(Answer(status=503))
        other.script(text("Done."))
        gateways = gateways_to(one, kind=first) | {"other": gateways_to(other, kind=successor)["default"]}
        async with open_server(sqlite_url, gateways) as server:
            run = await server.send("look")
            await gate.reached()
            await server.db.write(_moving(server, "other"))
            gate.open()
            ended = await server.settled(run)
    assert ended.reply == "Done."
    is_shown = first == successor != "responses"
    assert ("I should look." in other.requests[0].body.decode()) == is_shown


async def test_a_change_of_its_agent_holds_from_the_next_claim_on(sqlite_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as one, ScriptedGateway() as other:
        one.script(Answer(output=[call_item("session_status", {})], before=gate), text("Done."))
        other.script(text("Here I am."))
        gateways = gateways_to(one) | {"other": gateways_to(other)["default"]}
        async with open_server(sqlite_url, gateways) as server:
            run = await server.send("look")
            await gate.reached()
            await server.db.write(_moving(server, "other"))
            gate.open()
            replies = [(await server.settled(run)).reply, (await server.ask("and now?")).reply]
    assert replies == ["Done.", "Here I am."]


@requirement("P.receipt.compare")
@pytest.mark.parametrize(("first", "second"), list(combinations(KINDS, 2)))
async def test_receipts_of_different_kinds_can_be_compared(sqlite_url: str, first: str, second: str) -> None:
    lines = ("write the report", "which colour do we paint it?")
    with KINDS[first]() as one, KINDS[second]() as other:
        for scripted in (one, other):
            scripted.script(text("Good."), calls(("agents_list", {}), said="One moment."), text("Done."), text("Yes."))
        gateways = gateways_to(one, kind=first) | {"other": gateways_to(other, kind=second)["default"]}
        async with open_server(sqlite_url, gateways) as server:
            notes = Notebook(server)
            await notes.promote(await notes.keep("We paint it green", "session:hook:zero", type="result"))
            before = [await server.ask(said, "hook:one", attachments=FILES[:1]) for said in (*lines, "again")]
            await server.db.write(_moving(server, "other"))
            after = [await server.ask(said, "hook:two", attachments=FILES[:1]) for said in (*lines, "once more")]
            *alike, different = [
                await server.db.long_read(partial(compare_receipts, access=server.access, one=left, other=right))
                for left, right in zip(before, after, strict=True)
            ]
    assert b"We paint it green" in other.requests[1].body
    for same in alike:
        assert same.input.same, same.input.diff
        assert same.tools == {"added": [], "removed": []}
    changed = [line[0] for line in different.input.diff.splitlines() if "again" in line or "once more" in line]
    assert set(changed) == {"-", "+"}


def _moving(server: Server, gateway: str) -> Callable[[Tx], None]:
    def move(tx: Tx) -> None:
        agent = require_agent(tx, server.access, "main")
        profile = msgspec.structs.replace(agent.profile, gateway=gateway)
        change_agent(tx, server.access, msgspec.structs.replace(agent, profile=profile))

    return move


@every_kind
@pytest.mark.parametrize("status", [409, 429, 529])
async def test_an_overloaded_model_is_asked_again_with_the_same_bytes(
    server: Server, gateway: ScriptedGateway, status: int
) -> None:
    gateway.script(http_error(status, "Overloaded", "overloaded_error", retry_after="0"), text("Here now."))
    run = await server.ask("hello")
    assert (run.state, run.reply, run.attempt) == ("completed", "Here now.", 2)
    assert gateway.requests[0].body == gateway.requests[1].body
    await assert_true(server, run, gateway.requests)


@every_kind
@pytest.mark.parametrize("status", [400, 413])
async def test_a_session_that_outgrew_its_model_goes_on_with_what_the_model_can_hold(
    server: Server, gateway: ScriptedGateway, status: int
) -> None:
    gateway.rule = lambda request: text("I remember.")
    for at in range(6):
        await server.ask(f"{at} " + "word " * 400)
    too_long = http_error(status, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error")
    gateway.rule = lambda request: too_long if len(str(messages(request))) > 5_000 else text("I remember.")
    run = await server.ask("what did I say last?")
    assert (run.state, run.reply, run.attempt) == ("completed", "I remember.", 1)
    omitted = [step.history_omitted for step in (await server.receipt(run)).steps]
    assert 0 == omitted[0] < omitted[-1] < 12


@every_kind
async def test_the_limits_of_a_turn_hold_whatever_the_model_speaks(
    sqlite_url: str, kind: str, gateway: ScriptedGateway
) -> None:
    settings = tuned(runs={"attempts_max": 2}, tool_rounds_max=2)
    async with open_server(sqlite_url, gateways_to(gateway, kind=kind), settings) as server:
        gateway.rule = lambda request: calls(("session_status", {}))
        rounds = await server.ask("look around", "hook:rounds")
        gateway.rule = lambda request: http_error(529, "Overloaded", "overloaded_error", retry_after="0")
        attempts = await server.ask("hello", "hook:attempts")
        gateway.rule = lambda request: http_error(429, "You exceeded your quota.", "insufficient_quota")
        spent = await server.ask("hello", "hook:spent")
    assert [(run.state, run.error_code, run.attempt) for run in (rounds, attempts, spent)] == [
        ("failed", "tool_rounds_exceeded", 1), ("failed", "gateway_unavailable", 2), ("failed", "gateway_refused", 1),
    ]  # fmt: skip


async def test_files_that_the_model_cannot_be_given_are_named_to_it_and_on_the_receipt(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("I see one."))
    picture = NewAttachment(name="a.png", mime_type="image/png", content=b"\x89PNG!")
    archive = NewAttachment(name="a.zip", mime_type="application/zip", content=b"PK")
    run = await server.ask("what are these?", attachments=(picture, archive))
    (step,) = (await server.receipt(run)).steps
    assert run.state == "completed"
    assert step.left_out == ["a.zip (application/zip)"]
    assert run.note == "left_out: a.zip (application/zip)"
    assert [part["type"] for part in step.input[0]["content"]] == ["input_image", *["input_text"] * 4]
    assert "a.zip" in str(messages(gateway.requests[0]))


@requirement("P.receipt.true")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("any_kind", KINDS)
async def test_the_receipts_of_random_turns_have_the_bytes_that_were_sent(
    sqlite_url: str, any_kind: str, seed: int
) -> None:
    chance = random.Random(seed)

    def answer(request: Request) -> Answer:
        said = chance.choice(["Good.", "ünïcode \U0001f43f \u2028", '"\\\x00'])
        some = [thought_item("Hm.")] if chance.random() < 0.5 else []
        made = [call_item("session_status", {}, number) for number in range(1, chance.randint(2, 4))]
        return chance.choice([text(said), text(said), Answer(output=[*some, *made]), http_error(529, retry_after="0"),
                              http_error(400, "no"), dropped()])  # fmt: skip

    seen = 0
    with KINDS[any_kind]() as gateway:
        gateway.rule = answer
        async with open_server(sqlite_url, gateways_to(gateway, kind=any_kind)) as server:
            for _ in range(12):
                said = chance.choice(["hello", "ä\u2028\U0001f43f", '{"a": "\\"}', "  x  "])
                run = await server.ask(said, "hook:any", attachments=tuple(chance.sample(FILES, chance.randint(0, 2))))
                requests, seen = gateway.requests[seen:], len(gateway.requests)
                await assert_true(server, run, requests)


async def test_a_model_is_asked_what_to_keep_of_a_turn(sqlite_url: str, kind: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("Good."), text('[{"type": "fact", "text": "Olga likes green"}]'))
    settings = Settings(memory=MemorySettings(extraction="model"))
    async with open_server(sqlite_url, gateways_to(gateway, kind=kind), settings) as server:
        await server.ask("green is nice", "hook:any")
        await asyncio.to_thread(gateway.wait_for_requests, 2)
    assert "green is nice" in str(messages(gateway.requests[1]))
