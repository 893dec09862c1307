"""Replays of steps in every dialect, and what is not replayed."""

import json
from typing import Any

import pytest
from msgspec import structs

from carrel.delivery import Connection, replay
from carrel.gateway import repeated_request
from carrel.kernel import Access, Code, Refusal
from carrel.kernel.settings import GatewaySettings
from carrel.runs import Run
from tests.harness.scripted_agent import ScriptedAgent
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text


async def replayed(server: Server, run: Run, access: Access | None = None, **more: Any) -> Run:
    """Send the last step of a run once more; return the run that did it."""
    services = server.services
    again = await server.db.write(
        lambda tx: replay(tx, access or server.access, run, server.connections, services.rules, **more)
    )
    return await server.settled(again)


@requirement("P.replay")
async def test_a_step_goes_to_another_model_as_it_was(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Four."), text("Five."))
    run = await server.ask("What is two and two?")
    again = await replayed(server, run, model="larger")
    assert (run.reply, again.reply) == ("Four.", "Five.")
    assert gateway.requests[1].json["model"] == "larger"
    assert gateway.requests[1].json["input"] == gateway.requests[0].json["input"]


@requirement("P.replay.effects")
async def test_a_call_in_a_replay_is_not_made(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Four."), calls(("artifact_add", {"text": "four", "artifactId": "sum"})))
    again = await replayed(server, await server.ask("What is two and two?"))
    assert (again.state, len(gateway.requests)) == ("completed", 2)
    assert again.reply is not None
    assert again.reply.startswith("Called, but not made in a replay:\nartifact_add({")


@requirement("P.replay.effects")
async def test_no_token_of_a_run_goes_along(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("Four."), text("Five."))
    async with open_server(sqlite_url, gateways_to(gateway, run_tokens=True)) as server:
        await replayed(server, await server.ask("What is two and two?"))
    assert ["x-carrel-run-token" in request.headers for request in gateway.requests] == [True, False]


@requirement("P.replay.rights")
async def test_only_what_a_model_was_sent_goes_to_a_model(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Four."))
    run = await server.ask("What is two and two?")
    acting = {"default": Connection(ScriptedAgent(), GatewaySettings(kind="openclaw", base_url="http://127.0.0.1:9"))}
    with pytest.raises(Refusal) as refused:
        await server.db.write(
            lambda tx: replay(tx, server.access, run, acting, server.services.rules, gateway="default")
        )
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "gateway")


@requirement("P.replay.rights")
async def test_a_receipt_that_is_hidden_is_not_replayed(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("Four."), text("Five."))
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        run = await server.ask("What is two and two?")
        narrow = structs.replace(server.access, space_ids=("space-default",))
        with pytest.raises(Refusal) as refused:
            await replayed(server, run, narrow)
    assert refused.value.code is Code.FORBIDDEN
    assert len(gateway.requests) == 1


@requirement("P.replay")
@pytest.mark.parametrize("kind", ["chat", "anthropic"])
def test_a_step_of_a_dialect_keeps_its_tools(kind: str) -> None:
    schema = {"type": "object", "properties": {}}
    tools: dict[str, dict[str, Any]] = {
        "chat": {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": schema}},
        "anthropic": {"name": "look", "description": "Look.", "input_schema": schema},
    }
    messages = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    body = json.dumps({"model": "m", "messages": messages, "tools": [tools[kind]]})
    again = repeated_request(kind, body)
    assert again["tools"] == [{"type": "function", "name": "look", "description": "Look.", "parameters": schema}]
    assert "hello" in json.dumps(again["input"])
