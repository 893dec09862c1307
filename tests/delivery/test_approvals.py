"""Tools that a person must agree to: asked before they act, decided once, and remembered over a restart."""

import json

import pytest

from carrel.agents import ToolRules
from carrel.kernel import Access
from carrel.records import artifacts_of
from carrel.runs import Run, answer
from tests.harness.engine import words
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

REPORT = ("artifact_add", {"text": "the report"})


async def asked(server: Server, gateway: ScriptedGateway) -> Run:
    """A run whose agent wants to add an artifact and may not without asking."""
    await server.make_agent("careful", tools=ToolRules(ask=("artifact_*",)))
    gateway.script(calls(REPORT), text("It is done."))
    return await server.ask("write the report", agent="careful")


async def decide(server: Server, run: Run, approved: bool, word: str) -> Run:
    """Let a person decide; the run once it rests again."""
    await server.db.write(lambda tx: answer(tx, server.access, run.id, words(word), approved=approved))
    return await server.settled(run)


async def made(server: Server, run: Run) -> int:
    access: Access = server.access
    return len(await server.read(lambda tx: artifacts_of(tx, access, run.id)))


@requirement("P.tool.ask")
async def test_a_call_that_must_be_agreed_to_waits_with_the_call_shown_and_does_nothing(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    run = await asked(either_server, gateway)
    assert (run.state, run.waiting_for) == ("waiting", "approval")
    assert run.question == "May careful add a result to its run? (artifact_add)\n- text: the report"
    assert await made(either_server, run) == 0


@requirement("P.tool.ask")
async def test_yes_makes_exactly_that_call_once_and_the_model_sees_its_result_alone(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    run = await asked(either_server, gateway)
    ended = await decide(either_server, run, True, "go ahead")
    assert (ended.state, ended.reply) == ("completed", "It is done.")
    assert await made(either_server, run) == 1
    items = gateway.requests[-1].json["input"]
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output"]
    assert "artifactId" in json.loads(items[-1]["output"])


@requirement("P.tool.ask")
async def test_no_gives_the_model_the_refusal_with_the_reason_and_nothing_is_done(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    run = await asked(either_server, gateway)
    ended = await decide(either_server, run, False, "not today")
    assert ended.state == "completed"
    assert await made(either_server, run) == 0
    told = json.loads(gateway.requests[-1].json["input"][-1]["output"])
    assert told["error"]["code"] == "tool_not_allowed"
    assert "not today" in told["error"]["message"]


@requirement("P.tool.ask")
@pytest.mark.parametrize("approved", [True, False])
async def test_question_and_decision_outlive_the_worker(
    either_server: Server, gateway: ScriptedGateway, approved: bool
) -> None:
    run = await asked(either_server, gateway)
    await either_server.kill()
    decision = words("yes" if approved else "not today")
    await either_server.db.write(lambda tx: answer(tx, either_server.access, run.id, decision, approved=approved))
    either_server.start()
    ended = await either_server.settled(run)
    assert (ended.state, await made(either_server, run)) == ("completed", 1 if approved else 0)
    told = json.loads(gateway.requests[-1].json["input"][-1]["output"])
    assert ("not today" in json.dumps(told)) is not approved


@requirement("P.tool.ask")
async def test_a_tool_is_asked_for_by_whichever_of_its_names_it_is_called(
    server: Server, gateway: ScriptedGateway
) -> None:
    await server.make_agent("careful", tools=ToolRules(ask=("clawboard_search",)))
    gateway.script(calls(("board_search", {"q": "roses"})), text("None."))
    run = await server.ask("look for roses", agent="careful")
    assert (run.state, run.question) == ("waiting", "May careful search the board? (board_search)\n- q: roses")


async def test_of_two_such_calls_each_is_asked_for_on_its_own(either_server: Server, gateway: ScriptedGateway) -> None:
    server = either_server
    await server.make_agent("careful", tools=ToolRules(ask=("artifact_*",)))
    gateway.script(calls(REPORT, ("artifact_add", {"text": "the appendix"})), text("Half of it."))
    run = await server.ask("write both", agent="careful")
    second = await decide(server, run, True, "yes")
    assert (second.state, "appendix" in (second.question or "")) == ("waiting", True)
    ended = await decide(server, run, False, "no")
    assert (ended.reply, await made(server, run)) == ("Half of it.", 1)
