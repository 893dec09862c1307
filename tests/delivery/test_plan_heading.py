"""Turns in plan mode: what the model is told and offered there, what is refused, and that no other session notices."""

import json
from typing import Any

from carrel.kernel import SessionKey
from carrel.modes import PlanState, approve_session_plan, disable_plan_mode, enable_plan_mode, plan_state
from carrel.sessions import make_lane
from carrel.storage import Tx
from carrel.tools import CATALOG
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text

REST = "web:conversation1"
CHAT = SessionKey.of("main", REST)
PLAN = {"markdown": "# A garden", "tasks": [{"title": "Dig"}, {"title": "Plant", "dependencies": ["task-0"]}]}
GOAL_TOOLS = {"goal_list", "goal_create", "goal_update", "goal_complete", "goal_plan_tasks"}
RULES = "This session is in plan mode:"
KEEP = ("memory_add", {"content": "The door is green", "type": "fact"})


async def switch_on(server: Server, key: SessionKey = CHAT) -> PlanState:
    """Switch plan mode on."""
    return await server.db.write(lambda tx: enable_plan_mode(tx, server.access, key))


async def switch_off(server: Server, key: SessionKey = CHAT) -> PlanState:
    """Switch plan mode off."""
    return await server.db.write(lambda tx: disable_plan_mode(tx, server.access, key, server.rules))


def offered(gateway: ScriptedGateway, at: int) -> set[str]:
    """Return the names of the tools of a request."""
    return {tool["name"] for tool in gateway.requests[at].json["tools"]}


def outputs(gateway: ScriptedGateway) -> list[Any]:
    """Return what the tools of the last request's transcript returned."""
    items = gateway.requests[-1].json["input"]
    return [json.loads(item["output"]) for item in items if item.get("type") == "function_call_output"]


def count_tasks(tx: Tx) -> int:
    """Return how many tasks there are besides the orchestrator chat."""
    row = tx.one("SELECT count(*) FROM tasks WHERE title <> 'Orchestrator chat'")
    return 0 if row is None else int(row[0])


def count_kept(tx: Tx) -> int:
    """Return how many memories there are."""
    row = tx.one("SELECT count(*) FROM memories")
    return 0 if row is None else int(row[0])


@requirement("S3.plan.context", "S3.plan.tools", "S3.inv.1")
async def test_only_a_session_in_plan_mode_is_told_so_and_offered_less(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    await server.make_agent("writer")
    gateway.script(*(text("Good.") for _ in range(5)))
    await server.ask("before", REST)
    await switch_on(server)
    await server.ask("hello", REST)
    await server.ask("elsewhere", "web:conversation2")
    await server.ask("as the writer", REST, agent="writer")
    await switch_off(server)
    await server.ask("after", REST)
    told = [RULES in request.json["instructions"] for request in gateway.requests]
    assert told == [False, True, False, False, False]
    whole = offered(gateway, 0)
    assert [offered(gateway, at) == whole for at in (2, 3, 4)] == [True, True, True]
    assert "plan_set_content" not in whole
    left = offered(gateway, 1)
    reads = {name for name in whole if CATALOG.find(name).effect == "read"}
    for_plans = {"plan_get", "plan_set_content", "request_input", *GOAL_TOOLS}
    assert reads | for_plans <= left
    assert not [name for name in left - for_plans if CATALOG.find(name).effect == "write"]
    assert {"task_update", "sessions_send", "sessions_spawn", "memory_add", "artifact_add"} <= whole - left


@requirement("S3.plan.tools")
async def test_a_call_that_plan_mode_hides_is_refused_and_told_why(server: Server, gateway: ScriptedGateway) -> None:
    await switch_on(server)
    hidden = (KEEP, ("sessions_spawn", {"task": "dig"}), ("artifact_add", {"text": "x"}))
    gateway.script(calls(*hidden), text("I may not."))
    assert (await server.ask("dig", REST)).reply == "I may not."
    for output in outputs(gateway):
        assert output["error"]["code"] == "tool_not_allowed"
        assert "plan mode" in output["error"]["message"]
        assert "plan_set_content" in output["error"]["message"]
    assert await server.read(count_kept) == 0


@requirement("S3.plan.tools")
async def test_a_call_is_refused_where_plan_mode_was_switched_on_while_the_model_thought(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server, gate = either_server, Gate()
    gateway.script(calls(KEEP, before=gate), text("I may not."))
    run = await server.send("dig", REST)
    await gate.reached()
    assert "memory_add" in offered(gateway, 0)
    await switch_on(server)
    gate.open()
    assert (await server.settled(run)).reply == "I may not."
    assert "plan mode" in outputs(gateway)[0]["error"]["message"]
    assert "memory_add" not in offered(gateway, 1)
    assert await server.read(count_kept) == 0


@requirement("S3.plan.one", "S3.x.plan.steps")
async def test_a_model_writes_the_plan_and_its_tasks_run_once_it_is_approved(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    drafted = (await switch_on(server)).active_plan_id
    gateway.script(calls(("plan_set_content", PLAN), ("plan_get", {})), text("Shall I?"))
    await server.ask("plan a garden", REST)
    written, got = outputs(gateway)
    assert (written["plan"]["id"], written["plan"]["status"]) == (drafted, "ready")
    dig, plant = written["plan"]["tasks"]
    assert (dig["title"], plant["title"], plant["dependencies"]) == ("Dig", "Plant", [dig["id"]])
    assert got == {"enabled": True, "plan": written["plan"]}
    gateway.script(*(text("Done.") for _ in range(4)))
    await server.db.write(lambda tx: approve_session_plan(tx, server.access, CHAT, None, server.rules))
    state = await server.read(lambda tx: plan_state(tx, server.access, CHAT))
    assert (state.enabled, state.active_plan_id) == (False, drafted)
    (first,) = await server.runs(SessionKey.of("main", f"task:{dig['id']}"))
    await server.settled(first)
    begun = next(request for request in gateway.requests[2:] if dig["id"] in request.json["instructions"])
    assert RULES not in begun.json["instructions"]


async def test_outside_of_plan_mode_no_plan_is_written(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("plan_set_content", PLAN), ("plan_get", {})), text("Not here."))
    await server.ask("plan a garden", REST)
    refused, got = outputs(gateway)
    assert refused["error"]["code"] == "tool_not_allowed"
    assert "not in plan mode" in refused["error"]["message"]
    assert got == {"enabled": False, "plan": None}


async def test_a_call_that_waits_ends_well_where_plan_mode_was_switched_on_meanwhile(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gate, other = Gate(), "agent:writer:web:conversation2"

    def answer(request: Request) -> Answer:
        if request.json["user"].startswith(other):
            return text("All is well.", before=gate)
        if any(item.get("type") == "function_call_output" for item in request.json["input"]):
            return text("They are well.")
        return calls(("sessions_send", {"sessionKey": other, "message": "well?", "timeoutSeconds": 20}))

    gateway.rule = answer
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.make_agent("writer", visibility="agent")
        asking = SessionKey.of("writer", REST)
        await server.db.write(lambda tx: make_lane(tx, server.access, SessionKey.parse(other)))
        run = await server.send("ask them", REST, agent="writer")
        await gate.reached()
        await server.kill()
        await switch_on(server, asking)
        gate.open()
        server.start()
        await server.let_leases_end()
        assert (await server.settled(run)).reply == "They are well."
    assert outputs(gateway)[0]["reply"] == "All is well."


@requirement("S3.plan.tools", "S3.plan.restart")
async def test_the_built_in_agent_plans_from_plain_lines_and_the_plan_runs(store_url: str) -> None:
    async with open_server(store_url) as server:
        await switch_on(server)
        refused = await server.ask("create task Dig", REST)
        assert await server.read(count_tasks) == 0, refused.reply
        run = await server.ask("plan:\n1. Dig the beds\n2. Plant the roses", REST)
        assert "Dig the beds" in (run.reply or "")
        plan = await server.db.write(lambda tx: approve_session_plan(tx, server.access, CHAT, None, server.rules))
        assert plan.status == "working"
        assert await server.read(count_tasks) == 2
