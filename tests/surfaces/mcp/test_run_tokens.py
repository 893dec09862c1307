"""MCP with a run's token: it offers the model's tools until the turn ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx
import pytest
from mcp import Client

from carrel.tools import CATALOG
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import settled, start
from tests.surfaces.mcp.client import ERAS, Json, code_of, connected

QUESTION: Json = {"question": "Which one?"}


class Held(NamedTuple):
    """A run whose agent is at work, and the official client with the token that the agent was handed."""

    server: HttpServer
    owner: httpx.AsyncClient
    run_id: str
    mcp: Client

    async def return_step(self) -> Json:
        """Let the agent's step return; the run once it rests."""
        self.server.agent.release("here")
        return await settled(self.owner, self.run_id)


@asynccontextmanager
async def held_run(url: str, era: str, session: str = "agent:main:task:task_1") -> AsyncIterator[Held]:
    """A run that is held in its first step."""
    async with open_http_server(url, run_tokens=True) as server, server.client() as owner:
        run_id = (await start(owner, "hold here", sessionKey=session))["runId"]
        await server.agent.reached("here")
        async with connected(server, era, token=server.agent.tokens[run_id]) as mcp:
            yield Held(server, owner, run_id, mcp)


@requirement("S0.x.parity")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_in_a_run_asks_back_and_the_answer_continues_the_run(surface_url: str, era: str) -> None:
    async with held_run(surface_url, era) as held:
        asked = await held.mcp.call_tool("request_input", QUESTION)
        assert (asked.is_error, asked.structured_content) == (False, {"ok": True, "waitingFor": "input"})
        second = await held.mcp.call_tool("decline", {"reason": "No."})
        assert code_of(second) == "conflict"
        waiting = await held.return_step()
        assert (waiting["state"], waiting["note"]) == ("waiting", "Which one?")
        await held.owner.post(f"/api/runs/{held.run_id}/answer", json={"text": "the blue one"})
        assert (await settled(held.owner, held.run_id))["reply"] == "echo: the blue one"


@requirement("S1.decline")
async def test_a_client_in_a_run_declines_it(surface_url: str) -> None:
    async with held_run(surface_url, ERAS[-1]) as held:
        declined = await held.mcp.call_tool("decline", {"reason": "Not for me."})
        assert (declined.is_error, declined.structured_content) == (False, {"ok": True, "declined": True})
        ended = await held.return_step()
    assert (ended["state"], ended["reason"], ended["error"]["message"]) == ("failed", "rejected", "Not for me.")


@requirement("S0.x.parity", "P.tool.once")
async def test_in_a_run_clients_and_plain_http_have_the_same_tools_and_the_model_what_it_needs(
    surface_url: str,
) -> None:
    async with held_run(surface_url, ERAS[-1]) as held:
        model = {tool["name"]: tool for tool in held.server.agent.bodies[-1]["tools"]}
        mcp = {tool.name: tool for tool in (await held.mcp.list_tools()).tools}
        async with held.server.client(held.server.agent.tokens[held.run_id]) as run:
            http = {tool["name"]: tool for tool in (await run.get("/agent")).json()["tools"]}
        await held.return_step()
    assert {"request_input", "decline", "artifact_add"} <= set(model)
    assert list(mcp) == list(http)
    assert {CATALOG.find(name).name for name in model} < set(http), "a model is shown what its run needs"
    for name, tool in http.items():
        assert tool["parameters"] == mcp[name].input_schema
        assert tool["description"] == mcp[name].description


@requirement("S0.x.parity")
async def test_what_a_profile_denies_is_denied_to_the_client_in_the_run_too(surface_url: str) -> None:
    async with open_http_server(surface_url, run_tokens=True) as server, server.client() as owner:
        await owner.patch("/api/agents/main", json={"tools": {"allow": ["*"], "deny": ["decline"], "ask": []}})
        run_id = (await start(owner, "hold here"))["runId"]
        await server.agent.reached("here")
        async with connected(server, ERAS[-1], token=server.agent.tokens[run_id]) as mcp:
            refused = await mcp.call_tool("decline", {"reason": "No."})
            offered = {tool.name for tool in (await mcp.list_tools()).tools}
        server.agent.release("here")
        assert (await settled(owner, run_id))["state"] == "completed"
    assert code_of(refused) == "tool_not_allowed"
    assert "decline" not in offered
    assert "decline" not in {tool["name"] for tool in server.agent.bodies[-1]["tools"]}
