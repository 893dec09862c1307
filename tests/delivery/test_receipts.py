"""Receipts: what the gateway received and what the receipt says are the same bytes."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest

from carrel.agents import ToolRules, change_agent, require_agent
from carrel.delivery import compare_receipts
from carrel.delivery.prompt import PROFILE_VERSION
from carrel.kernel import Code, Refusal, SessionKey, TurnExtras
from carrel.runs import Run
from carrel.sessions import close_generation
from carrel.storage import Tx
from tests.harness.server import Server, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, http_error, text


@requirement("P.receipt.true")
async def test_the_receipt_holds_the_very_bytes_that_the_gateway_received(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {})), http_error(503), text("Ünïcode, \U0001f43f and \\ escapes."))
    run = await either_server.ask('say "ünïcode" \u2028 \U0001f43f', "task:task_1")
    receipt = await either_server.receipt(run, with_body=True)
    assert len(receipt.steps) == len(gateway.requests) == 3
    for step, request in zip(receipt.steps, gateway.requests, strict=True):
        assert isinstance(step.body, str)
        assert step.body.encode() == request.body
        assert step.body_sha256 == sha256(request.body).hexdigest()
    assert run.reply == "Ünïcode, \U0001f43f and \\ escapes."


@requirement("P.receipt", "S0.instr.version")
async def test_a_receipt_says_what_was_shown_and_what_came_back(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("session_status", {})), text("Idle."))
    run = await server.ask("how do you stand?", "task:task_1")
    receipt = await server.receipt(run)
    assert (receipt.run_id, receipt.session_key, receipt.generation) == (run.id, "agent:main:task:task_1", 1)
    assert receipt.delivery_session_key == "agent:main:task:task_1:v1"
    first, second = receipt.steps
    sent = gateway.requests[0].json
    assert first.instructions == sent["instructions"]
    assert first.input == sent["input"]
    assert first.tools == [tool["name"] for tool in sent["tools"]]
    assert (first.model, first.instructions_version) == ("scripted-model", PROFILE_VERSION)
    assert (first.instructions_sha256, first.instructions_version) == (
        run.instructions_sha256, run.instructions_version,
    )  # fmt: skip
    assert first.output[0]["name"] == "session_status"
    assert second.output[0]["content"][0]["text"] == "Idle."


async def test_a_receipt_on_the_wire_has_the_public_names_and_the_body_only_on_request(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Good."))
    run = await server.ask("hello")
    brief, whole = await server.receipt(run), await server.receipt(run, with_body=True)
    shown = msgspec.to_builtins(brief)
    assert set(shown) == {"runId", "sessionKey", "generation", "deliverySessionKey", "steps"}
    names = set(shown["steps"][0])
    assert names == {
        "n", "attempt", "sentAt", "model", "instructionsVersion", "instructionsSha256", "instructions", "input",
        "tools", "leftOut", "historyOmitted", "bodySha256", "context", "output",
    }  # fmt: skip
    assert set(msgspec.to_builtins(whole)["steps"][0]) == names | {"body"}


async def test_a_step_that_failed_is_on_the_receipt_without_an_output(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(http_error(400, "no"))
    run = await server.ask("hello")
    (step,) = (await server.receipt(run)).steps
    assert step.output is None
    assert step.sent_at is not None


async def test_a_run_that_has_not_begun_has_an_empty_receipt(sqlite_url: str) -> None:
    async with open_server(sqlite_url, working=False) as server:
        run = await server.send("hello")
        receipt = await server.receipt(run)
        assert receipt.steps == []
        assert receipt.delivery_session_key is None
        with pytest.raises(Refusal) as refused:
            await server.db.long_read(lambda tx: compare_receipts(tx, server.access, run, run))
    assert refused.value.code == Code.NOT_FOUND


@requirement("P.receipt.compare")
async def test_two_receipts_show_what_one_was_told_that_the_other_was_not(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    before = await server.ask("write the report", "task:task_1")
    same = await server.ask("write the report", "task:task_2")

    def narrow(tx: Tx) -> None:
        agent = require_agent(tx, server.access, "main")
        rules = ToolRules(deny=("decline",))
        profile = msgspec.structs.replace(agent.profile, tools=rules, instructions_extra="Write in verse.")
        change_agent(tx, server.access, msgspec.structs.replace(agent, profile=profile))

    await server.db.write(narrow)
    after = await server.ask("write the poem", "task:task_1")
    shown = await server.db.long_read(lambda tx: compare_receipts(tx, server.access, before, after))
    assert not shown.same
    assert "+Write in verse." in shown.instructions.diff
    assert shown.tools == {"added": [], "removed": ["decline"]}
    assert "write the poem" in shown.input.diff
    assert not shown.input.same
    itself = await server.db.long_read(lambda tx: compare_receipts(tx, server.access, same, same))
    assert itself.same
    assert (itself.instructions.diff, itself.input.diff) == ("", "")
    assert set(msgspec.to_builtins(itself)) == {"same", "instructions", "input", "context", "tools"}


@requirement("P.receipt.compare")
async def test_receipts_that_differ_in_their_tools_alone_are_not_the_same(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    function = {"type": "function", "name": "get_weather", "description": "", "parameters": {}, "strict": False}

    async def ask_anew(*functions: dict[str, Any]) -> Run:
        """Ask in a session that begins afresh, so that nothing else is different."""
        key = SessionKey.of("main", "hook:one")
        await server.db.write(lambda tx: close_generation(tx, server.access, key, "reset"))
        return await server.ask("write the report", "hook:one", extras=TurnExtras(functions=functions))

    before, again, after = await ask_anew(), await ask_anew(), await ask_anew(function)
    for other, added in ((again, []), (after, ["get_weather"])):
        shown = await server.db.long_read(
            lambda tx, other=other: compare_receipts(tx, server.access, before, other)  # type: ignore[misc]
        )
        assert (shown.instructions.diff, shown.input.diff) == ("", "")
        assert (shown.same, shown.tools) == (not added, {"added": added, "removed": []})
