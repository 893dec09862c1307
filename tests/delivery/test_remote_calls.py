"""Turns that call tools of MCP servers: offered with the others, approved like them, and never made twice."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from carrel.agents import ToolRules
from carrel.kernel import TurnExtras
from carrel.kernel.settings import McpServerSettings, RunsSettings, Settings
from carrel.modes import enable_plan_mode
from carrel.records import artifacts_of, tools_called
from carrel.runs import Run, answer, cancel
from tests.connectors.plain import open_gate, plain
from tests.harness.engine import words
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

LOOK, CHANGE = "plain_look", "plain_change"


@asynccontextmanager
async def serving(url: str, gateway: ScriptedGateway, **servers: McpServerSettings) -> AsyncIterator[Server]:
    """A server with the agent `handy`, which uses the MCP server `plain`."""
    async with open_server(url, gateways_to(gateway), Settings(mcp=servers)) as opened:
        await opened.make_agent("handy", mcp=("plain",))
        yield opened


def offered(gateway: ScriptedGateway, request: int = -1) -> dict[str, dict[str, Any]]:
    """The tools that the model was offered, by name."""
    return {tool["name"]: tool for tool in gateway.requests[request].json.get("tools", [])}


async def result_of(server: Server, run: Run) -> dict[str, Any]:
    """The result of the run's newest call, as the model gets it."""
    entry = [entry for entry in await server.entries(run) if entry.role == "toolResult"][-1]
    return dict(json.loads(entry.content))


@requirement("P.mcp.agent")
async def test_an_agent_gets_the_tools_of_its_servers_and_calls_them(
    store_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    async with serving(store_url, gateway, plain=plain()) as server:
        gateway.script(calls((LOOK, {"at": "it"})), text("I have looked."))
        run = await server.ask("look at it", agent="handy")
        assert (run.state, run.reply) == ("completed", "I have looked.")
        assert await result_of(server, run) == {"text": 'look {"at": "it"}'}
        shown = offered(gateway)[LOOK]
        assert shown["description"] == "[MCP server plain] Look at something."
        assert "what the MCP server plain does (plain_…)" in gateway.requests[-1].json["instructions"]
        assert await server.read(lambda tx: tools_called(tx, server.access, run.id)) == [LOOK]
        gateway.script(text("Nothing to look with."))
        await server.ask("look at it")
        assert LOOK not in offered(gateway)


@requirement("P.mcp.approval")
async def test_a_call_that_needs_approval_reaches_the_server_only_after_a_yes(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    async with open_gate() as gate, serving(sqlite_url, gateway, plain=plain("honest", str(gate.port))) as server:
        await server.make_agent("careful", mcp=("plain",), tools=ToolRules(ask=("plain_c*",)))
        gateway.script(calls((CHANGE, {"to": "that"})), text("It is changed."))
        waiting = await server.ask("change it", agent="careful")
        assert waiting.state == "waiting"
        assert waiting.question is not None
        assert waiting.question.startswith(f"May careful use change of the MCP server plain? ({CHANGE})")
        assert gate.calls == []
        await server.db.write(lambda tx: answer(tx, server.access, waiting.id, words("yes"), approved=True))
        await gate.let_go(await gate.arrived())
        assert (await server.settled(waiting)).reply == "It is changed."
        assert gate.calls == [("change", {"to": "that"})]


@requirement("P.mcp.effect")
async def test_plan_mode_hides_what_may_write(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with open_gate() as gate, serving(sqlite_url, gateway, plain=plain("honest", str(gate.port))) as server:
        gateway.script(text("ready"), calls((CHANGE, {})), text("I may not."))
        first = await server.ask("hello", agent="handy")
        assert {LOOK, CHANGE} <= offered(gateway).keys()
        await server.db.write(lambda tx: enable_plan_mode(tx, server.access, first.session_key))
        run = await server.ask("change it", agent="handy")
        assert CHANGE not in offered(gateway)
        assert LOOK in offered(gateway)
        assert (await result_of(server, run))["error"]["code"] == "tool_not_allowed"
        assert gate.calls == []


@requirement("P.mcp.results")
async def test_files_of_a_result_are_artifacts_and_images_are_shown(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with serving(sqlite_url, gateway, plain=plain()) as server:
        gateway.script(calls(("plain_picture", {})), text("A dot."))
        run = await server.ask("what is on it?", agent="handy")
        kept = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
        assert [(one.filename, one.media_type) for one in kept] == [
            ("picture-2", "image/png"),
            ("table.csv", "text/csv"),
        ]
        assert kept[1].content == "YSxi"
        told = (await result_of(server, run))["files"]
        assert [one["artifactId"] for one in told] == [one.artifact_id for one in kept]
        output = next(item for item in gateway.requests[-1].json["input"] if item.get("type") == "function_call_output")
        assert [part["type"] for part in output["output"]] == ["input_text", "input_image"]


@requirement("P.mcp.fate", "P.mcp.record")
async def test_after_a_crash_in_a_call_it_is_not_repeated_and_the_model_is_told(
    store_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    async with open_gate() as gate, serving(store_url, gateway, plain=plain("honest", str(gate.port))) as server:
        gateway.script(calls((CHANGE, {"to": "that"})), text("I shall look first."))
        run = await server.send("change it", agent="handy")
        await gate.arrived()
        await server.kill()
        await server.let_leases_end()
        server.start()
        ended = await server.settled(run)
        assert (ended.state, ended.reply) == ("completed", "I shall look first.")
        assert gate.calls == [("change", {"to": "that"})]
        told = await result_of(server, run)
        assert told["error"]["code"] == "fate_unknown"
        assert "It was not repeated" in told["error"]["message"]


@requirement("P.mcp.time")
async def test_a_run_that_is_cancelled_does_not_wait_for_its_call(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with open_gate() as gate, serving(sqlite_url, gateway, plain=plain("hangs", str(gate.port))) as server:
        gateway.script(calls((CHANGE, {})))
        run = await server.send("change it", agent="handy")
        await gate.let_go(await gate.arrived())
        await server.db.write(lambda tx: cancel(tx, server.access, run.id, "enough"))
        assert (await server.settled(run)).state == "cancelled"


@requirement("P.mcp.time")
async def test_calls_that_hang_leave_the_slots_to_others(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with open_gate() as gate:
        one_slot = Settings(mcp={"plain": plain("hangs", str(gate.port))}, runs=RunsSettings(concurrency=1))
        async with open_server(sqlite_url, gateways_to(gateway), one_slot) as server:
            await server.make_agent("handy", mcp=("plain",))
            gateway.script(calls((CHANGE, {})), calls((CHANGE, {})), text("Here I am."))
            for lane in ("hook:1", "hook:2"):
                await server.send("change it", lane, agent="handy")
                await gate.let_go(await gate.arrived())
            assert (await server.ask("are you there?")).reply == "Here I am."


@requirement("P.mcp.record")
async def test_a_call_without_an_answer_is_a_result_that_says_so(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with serving(sqlite_url, gateway, plain=plain("dies")) as server:
        gateway.script(calls((LOOK, {})), calls((CHANGE, {})), text("It is broken."))
        run = await server.ask("look", agent="handy")
        results = [json.loads(one.content)["error"] for one in await server.entries(run) if one.role == "toolResult"]
        assert [one["code"] for one in results] == ["tool_unavailable", "tool_unavailable"]
        assert "ended with exit code 3" in results[0]["message"]
        assert "It is started again in" in results[1]["message"]


@requirement("P.mcp.shadow")
async def test_a_function_of_the_sender_stands_in_the_place_of_a_tool_of_its_name(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    theirs = {"type": "function", "name": LOOK, "description": "The sender's.", "parameters": {}, "strict": False}
    async with open_gate() as gate, serving(sqlite_url, gateway, plain=plain("honest", str(gate.port))) as server:
        gateway.script(calls((LOOK, {"at": "it"})))
        run = await server.ask("look at it", agent="handy", extras=TurnExtras(functions=(theirs,)))
        assert [tool for tool in gateway.requests[-1].json["tools"] if tool["name"] == LOOK] == [theirs]
        assert CHANGE in offered(gateway)
        assert (run.state, run.waiting_for) == ("waiting", "tool_output")
        assert gate.calls == []
        gateway.script(text("Nobody else brings one."))
        await server.ask("and now?", "hook:other", agent="handy")
        assert offered(gateway)[LOOK]["description"] == "[MCP server plain] Look at something."


@requirement("P.mcp.shadow")
async def test_a_function_of_the_sender_keeps_its_name_after_a_call_of_another_tool(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    theirs = {"type": "function", "name": LOOK, "description": "The sender's.", "parameters": {}, "strict": False}
    async with serving(sqlite_url, gateway, plain=plain()) as server:
        gateway.script(calls((CHANGE, {})), text("Changed."))
        run = await server.ask("change it", agent="handy", extras=TurnExtras(functions=(theirs,)))
        assert (run.state, run.reply) == ("completed", "Changed.")
        assert [tool for tool in gateway.requests[-1].json["tools"] if tool["name"] == LOOK] == [theirs]


@requirement("P.mcp.shadow")
async def test_a_server_that_is_called_like_a_family_of_ours_gets_nothing_of_its_rules(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    async with open_server(sqlite_url, gateways_to(gateway), Settings(mcp={"goal": plain()})) as server:
        await server.make_agent("handy", mcp=("goal",))
        gateway.script(text("ready"), text("I may not."))
        first = await server.ask("hello", agent="handy")
        # Our own goal_update is not shown in chats, and goal_* may be used in plan mode.
        assert {"goal_look", "goal_change"} <= offered(gateway).keys()
        await server.db.write(lambda tx: enable_plan_mode(tx, server.access, first.session_key))
        await server.ask("change it", agent="handy")
        assert "goal_look" in offered(gateway)
        assert "goal_change" not in offered(gateway)
