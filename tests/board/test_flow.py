"""What is said and done in a turn becomes entries of the journal, each once, and each told of."""

import json

from carrel.journal import events_after
from carrel.journal.store import entries_since
from carrel.kernel import Envelope, Message, Provenance, system_access
from carrel.runs import deliver
from tests.harness.engine import MAIN, SECONDS_MAX, until_found
from tests.harness.server import gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, http_error, text


@requirement("S4.flow.hear", "S4.flow.event")
async def test_a_turn_with_tools_becomes_entries_exactly_once_each_with_an_event(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {}), ("no_such_tool", {})), http_error(503), text("All is well."))
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.ask("how are you?")
        # On PostgreSQL the newest may be read a moment later, once every transaction that began before has ended.
        entries = await until_found(
            lambda: server.read(lambda tx: entries_since(tx, server.access, 0, limit=100)),
            lambda found: found[-1].role == "assistant",
        )
        events = await server.read(lambda tx: events_after(tx, server.access, 0, limit=1000))
    assert [entry.role for entry in entries] == ["user", *["toolCall"] * 2, *["toolResult"] * 2, "assistant"]
    assert (entries[0].content, entries[-1].content) == ("how are you?", "All is well.")
    told = [json.loads(event.body)["log"]["id"] for event in events if event.name == "log.appended"]
    assert told == [entry.id for entry in entries]


@requirement("S4.x.writer")
async def test_what_agents_and_the_system_say_to_agents_is_not_said_by_a_person(
    store_url: str, gateway: ScriptedGateway
) -> None:
    spawn = calls(("sessions_spawn", {"task": "count the sheep"}))
    gateway.rule = lambda _: spawn if len(gateway.requests) == 1 else text("Done.")
    spawned = "SELECT id FROM runs WHERE account_id = :account AND provenance_kind = 'spawn'"
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.ask("how many sheep are there?")
        system, beat = system_access(server.access.account_id), Provenance(kind="heartbeat")
        woken = Envelope(key=MAIN, message=Message(text="anything due?", provenance=beat))
        run = await server.db.write(lambda tx: deliver(tx, system, woken, server.services.rules))
        (child,) = await server.read(lambda tx: tx.all(spawned, server.access))
        for run_id in (run.id, child[0]):
            await server.services.wait_for_run(server.access, run_id, SECONDS_MAX)
        entries = await server.read(lambda tx: entries_since(tx, server.access, 0, limit=100))
    writers = {entry.content: (entry.author, entry.author_kind) for entry in entries if entry.role == "user"}
    assert writers["how many sheep are there?"] == ("user", "user")
    assert writers["anything due?"] == ("system", "system")
    (delegated,) = [entry for entry in entries if entry.provenance.kind == "spawn" and entry.role == "user"]
    assert (delegated.author, delegated.author_kind) == ("main", "agent")
