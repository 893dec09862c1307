"""Turns at OpenClaw, which keeps the history: each step says what is new to it, and nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from carrel.gateway import read_stored_request
from carrel.runs.store import delete_run
from carrel.sessions import close_generation
from carrel.topics import NewTopic, put_topic
from tests.harness.engine import MAIN
from tests.harness.server import Server, gateways_to, open_server
from tests.scripted_gateway import DROP, Request, ScriptedGateway, calls, http_error, text
from tests.scripted_openclaw import ScriptedOpenClaw


@pytest.fixture
def openclaw() -> Iterator[ScriptedOpenClaw]:
    with ScriptedOpenClaw() as gateway:
        yield gateway


@pytest.fixture
async def keeping(store_url: str, openclaw: ScriptedOpenClaw) -> AsyncIterator[Server]:
    async with open_server(store_url, gateways_to(openclaw, kind="openclaw", model="")) as opened:
        yield opened


def said(request: Request) -> list[str]:
    """Return what a request tells, without context: texts, and outputs of calls as `=`."""
    return ["=" if item["type"] == "function_call_output" else item["content"][-1]["text"] for item in request.talk]


async def test_turn_after_turn_only_what_is_new_is_said(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    openclaw.script(
        text("One."), calls(("carrel_session_status", {}), ("carrel_agents_list", {})), text("Two."), text("3")
    )
    for message in ("the first", "the second", "the third"):
        await keeping.ask(message)
    assert (openclaw.refusals, [said(request) for request in openclaw.requests]) == (
        [],
        [["the first"], ["the second"], ["=", "="], ["the third"]],
    )
    assert all(request.json["instructions"] for request in openclaw.requests)
    assert len(set(openclaw.sessions)) == 1


async def test_the_context_of_a_message_is_shown_in_each_of_its_steps(
    keeping: Server, openclaw: ScriptedOpenClaw
) -> None:
    openclaw.script(text("Noted."), calls(("carrel_session_status", {})), text("Green."))
    await keeping.ask("the fence is green")
    launch = NewTopic(name="Launch", pinned=True)
    await keeping.db.write(lambda tx: put_topic(tx, keeping.access, launch))
    await keeping.ask("which colour has the fence?")
    first, second = openclaw.requests[1:]
    assert first.block
    assert second.block == first.block


async def test_a_message_that_was_refused_is_said_with_the_next(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    openclaw.script(text("One."), http_error(400, "no"), text("Three."), text("Four."))
    for message in ("the first", "the second", "the third", "the fourth"):
        await keeping.ask(message)
    assert [said(request) for request in openclaw.requests[2:]] == [["the second", "the third"], ["the fourth"]]


async def test_a_generation_that_began_elsewhere_is_told_once(
    store_url: str, gateway: ScriptedGateway, openclaw: ScriptedOpenClaw
) -> None:
    gateway.script(text("Blue, then."))
    async with open_server(store_url, gateways_to(gateway)) as elsewhere:
        await elsewhere.ask("my colour is blue")
    openclaw.script(text("Blue."), text("Still blue."))
    async with open_server(store_url, gateways_to(openclaw, kind="openclaw")) as here:
        await here.ask("which colour?")
        await here.ask("and now?")
    assert [said(request) for request in openclaw.requests] == [
        ["my colour is blue", "Blue, then.", "which colour?"],
        ["and now?"],
    ]


async def test_what_was_said_by_runs_past_their_retention_is_not_said_again(
    keeping: Server, openclaw: ScriptedOpenClaw
) -> None:
    openclaw.script(text("One."), text("Two."))
    old = await keeping.ask("the first")
    await keeping.db.write(lambda tx: delete_run(tx, keeping.access, old.id))
    await keeping.ask("the second")
    assert said(openclaw.requests[1]) == ["the second"]


async def test_a_new_generation_is_a_new_session_there(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    openclaw.script(text("One."), text("Two."))
    await keeping.ask("the first")
    await keeping.db.write(lambda tx: close_generation(tx, keeping.access, MAIN, "reset"))
    await keeping.ask("the second")
    assert openclaw.sessions == ["agent:main:carrel:main~main~v1", "agent:main:carrel:main~main~v2"]
    assert said(openclaw.requests[1]) == ["the second"]


async def test_sub_agents_and_schedules_have_sessions_there(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    spawn = calls(("carrel_sessions_spawn", {"task": "count the sheep"}))
    openclaw.rule = lambda request: spawn if said(request) == ["how many sheep?"] else text("Twelve.")
    await keeping.ask("how many sheep?")
    await keeping.ask("good morning", "cron:job-1")
    await asyncio.to_thread(openclaw.wait_for_requests, 5)
    kinds = {key.partition("carrel:main~")[2].partition("~")[0] for key in openclaw.sessions}
    assert (openclaw.refusals, kinds) == ([], {"main", "subagent", "cron"})


async def test_a_receipt_has_the_bytes_that_were_sent(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    openclaw.script(calls(("carrel_session_status", {})), text("Idle."))
    run = await keeping.ask("how are you?")
    receipt = await keeping.receipt(run, with_body=True)
    assert [step.body for step in receipt.steps] == [request.body.decode() for request in openclaw.requests]
    assert "memory_search" in receipt.steps[0].tools
    assert read_stored_request("openclaw", openclaw.requests[1].body.decode()).input == receipt.steps[1].input


async def test_an_answer_that_broke_off_is_not_asked_for_twice(keeping: Server, openclaw: ScriptedOpenClaw) -> None:
    key = "agent:main:carrel:main~main~v1"
    now = await keeping.read(lambda tx: tx.now)
    openclaw.script(text("Twel", DROP))
    openclaw.histories[key] = [
        {"role": "user", "content": "how many sheep?", "timestamp": now + 1_000},
        {"role": "assistant", "content": [{"type": "text", "text": "Twelve."}], "stopReason": "stop"},
    ]
    run = await keeping.ask("how many sheep?")
    assert (run.reply, len(openclaw.requests)) == ("Twelve.", 1)
