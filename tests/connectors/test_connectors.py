"""Servers are started when they are wanted, called within limits, started again when they die, and ended with us."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from carrel.connectors import CallFailed, Connectors, RemoteTool
from carrel.kernel.limits import MCP_RESTART_SECONDS_MAX
from carrel.kernel.settings import McpServerSettings
from carrel.tools import connectors_of
from tests.connectors.plain import open_gate, plain
from tests.harness.elapsing import Elapsing
from tests.requirements.mark import requirement


@contextlib.asynccontextmanager
async def connected(**servers: McpServerSettings) -> AsyncIterator[Connectors]:
    """Connectors at work."""
    connectors = connectors_of(servers)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(connectors.serve())
        await asyncio.sleep(0)
        yield connectors
        serving.cancel()


async def offered(connectors: Connectors, server: str = "plain") -> dict[str, RemoteTool]:
    """What a server offers, by its own names."""
    return {tool.name: tool for one in await connectors.tools("default", [server]) for tool in one.tools}


async def call(connectors: Connectors, tool: str, **arguments: object) -> dict[str, object]:
    """The value of a call of a tool of the server `plain`."""
    return (await connectors.call("default", (await offered(connectors))[tool], arguments)).value


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may not have been collected yet."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii").partition(")")[2][:4]
    except OSError:
        return False


async def failure(connectors: Connectors, tool: str, **arguments: object) -> CallFailed:
    """How a call fails."""
    with pytest.raises(CallFailed) as caught:
        await call(connectors, tool, **arguments)
    return caught.value


@requirement("P.mcp.start")
async def test_a_server_is_started_when_its_tools_are_first_wanted() -> None:
    async with connected(plain=plain()) as connectors:
        assert connectors.states("default")[0].status == "idle"
        tools = await offered(connectors)
        assert tools["look"].offered_as == "plain_look"
        assert (tools["look"].effect, tools["change"].effect) == ("read", "write")
        assert await call(connectors, "look", at="it") == {"text": 'look {"at": "it"}'}
        state = connectors.states("default")[0]
        assert (state.status, state.starts, state.tools) == ("ok", 1, 6)


@requirement("P.mcp.start")
async def test_a_server_that_prints_before_it_speaks_the_protocol_is_understood() -> None:
    async with connected(plain=plain("talks first")) as connectors:
        assert "look" in await offered(connectors)


@requirement("P.mcp.accounts")
async def test_an_account_that_is_not_named_gets_nothing_of_a_server() -> None:
    async with connected(plain=plain(accounts=("default",)), open=plain(accounts=("*",))) as connectors:
        assert connectors.usable("other") == ("open",)
        assert await connectors.tools("other", ["plain"]) == ()
        look = (await offered(connectors))["look"]
        with pytest.raises(CallFailed):
            await connectors.call("other", look, {})


@requirement("P.mcp.names")
async def test_only_tools_that_the_settings_allow_are_offered() -> None:
    async with connected(plain=plain(allow=("look", "c*"), deny=("change",))) as connectors:
        assert set(await offered(connectors)) == {"look"}


@requirement("P.mcp.secrets")
async def test_a_program_gets_only_the_variables_that_are_named_and_cannot_tell_their_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIVEN", "value-of-the-given")
    monkeypatch.setenv("NOT_GIVEN", "value-of-the-other")
    async with connected(plain=plain(env=("GIVEN",))) as connectors:
        assert await call(connectors, "secret") == {"text": "[redacted] None [redacted]"}


@requirement("P.mcp.secrets")
async def test_a_missing_variable_is_named_and_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIVEN", raising=False)
    async with connected(plain=plain(env=("GIVEN",))) as connectors:
        assert await offered(connectors) == {}
        state = connectors.states("default")[0]
        assert state.status == "failed"
        assert state.last_error == "mcp.plain.env names the environment variable GIVEN, which is not set."


@requirement("P.mcp.restart")
async def test_a_server_that_dies_is_started_again_after_a_pause(elapsing: Elapsing) -> None:
    async with connected(plain=plain("dies")) as connectors:
        died = await failure(connectors, "change")
        assert died.is_unknown
        state = connectors.states("default")[0]
        assert state.status == "failed"
        assert state.last_error == "The program ended with exit code 3. Its last output: I cannot go on"
        at_once = await failure(connectors, "change")
        assert not at_once.is_unknown
        assert "It is started again in" in at_once.message
        assert connectors.states("default")[0].starts == 1
        elapsing.advance(MCP_RESTART_SECONDS_MAX)
        await failure(connectors, "change")
        assert connectors.states("default")[0].starts == 2


@requirement("P.mcp.end")
async def test_programs_end_with_us_also_when_they_do_not_read_and_have_children() -> None:
    async with open_gate() as gate:
        async with connected(plain=plain("stops reading", str(gate.port))) as connectors, asyncio.TaskGroup() as group:
            calling = group.create_task(call(connectors, "look"))
            await gate.let_go(await gate.arrived())
            calling.cancel()
        assert len(gate.pids) == 2
        assert not any(map(is_alive, gate.pids))


@requirement("P.mcp.reload")
async def test_a_server_whose_settings_change_is_ended_and_started_with_the_new_ones() -> None:
    async with connected(plain=plain(), other=plain()) as connectors:
        await offered(connectors), await offered(connectors, "other")
        connectors.replace({"plain": plain(deny=("change",)), "other": plain()})
        assert "change" not in await offered(connectors)
        assert [state.starts for state in connectors.states("default")] == [1, 1]
        connectors.replace({})
        assert connectors.states("default") == []
