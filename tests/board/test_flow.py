"""What is said and done in a turn becomes entries of the journal, each once, and each told of."""

import json

import pytest

from carrel.journal import entries_since, events_after
from tests.harness.server import gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, http_error, text

pytestmark = pytest.mark.anyio


@requirement("S4.flow.hear", "S4.flow.event")
async def test_a_turn_with_tools_becomes_entries_exactly_once_each_with_an_event(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {}), ("no_such_tool", {})), http_error(503), text("All is well."))
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.ask("how are you?")
        entries = await server.read(lambda tx: entries_since(tx, server.access, 0, limit=100))
        events = await server.read(lambda tx: events_after(tx, server.access, 0, limit=1000))
    assert [entry.role for entry in entries] == ["user", *["toolCall"] * 2, *["toolResult"] * 2, "assistant"]
    assert (entries[0].content, entries[-1].content) == ("how are you?", "All is well.")
    told = [json.loads(event.body)["log"]["id"] for event in events if event.name == "log.appended"]
    assert told == [entry.id for entry in entries]
