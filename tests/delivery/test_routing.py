"""Which caller a run is heard at, and under which address the gateway learns of it."""

from functools import partial

import pytest

from carrel.kernel import SessionKey
from carrel.kernel.settings import DeliverySettings, SessionsSettings, Settings
from carrel.sessions import close_generation, find_session, lane_for_work, open_session_of
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, text


def addresses(gateway: ScriptedGateway) -> list[str]:
    return [request.headers["x-openclaw-session-key"] for request in gateway.requests]


async def lane_of(server: Server, *, task_id: str | None, agent: str | None = None) -> SessionKey:
    """The lane that work is for when no session is named, as the settings of this floor say."""
    scoped = server.settings.sessions.task_scoped
    return await server.read(
        lambda tx: lane_for_work(tx, server.access, agent=agent, reference=None, task_id=task_id, task_scoped=scoped)
    )


@requirement("S0.route.task", "S0.route.base", "S0.route.precedence")
async def test_work_on_a_task_goes_to_its_desk_and_other_work_to_the_main_one(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    await server.make_agent("writer")
    for task_id in ("task_1", None):
        key = await lane_of(server, task_id=task_id, agent="writer")
        await server.ask("hello", key.rest, agent="writer", task_id=task_id)
    assert addresses(gateway) == ["agent:writer:task:task_1:v1", "agent:writer:main:v1"]


@requirement("S0.session.address")
async def test_a_generation_and_a_foreign_account_show_in_the_address(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    gateway.rule = lambda request: text("Good.")
    other = await server.another_account("acme")
    await server.ask("hello", "task:task_1")
    await server.db.write(lambda tx: close_generation(tx, server.access, SessionKey.of("main", "task:task_1"), "reset"))
    await server.ask("hello", "task:task_1")
    await server.ask("hello", "task:task_1", access=other)
    assert addresses(gateway) == [
        "agent:main:task:task_1:v1",
        "agent:main:task:task_1:v2",
        "agent:main:task:task_1:v1@acme",
    ]
    assert [request.json["user"] for request in gateway.requests] == addresses(gateway)


@requirement("S0.session.pair.tasks", "S0.session.pair.agents")
async def test_nothing_said_at_one_desk_is_sent_to_another(server: Server, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Kept between us.")
    await server.make_agent("writer")
    await server.ask("the password of the vault is swordfish", "task:task_a")
    await server.ask("what do you know?", "task:task_b")
    await server.ask("what do you know?", "task:task_a", agent="writer")
    first, second, third = gateway.requests
    assert b"swordfish" in first.body
    assert b"swordfish" not in second.body
    assert b"Kept between us" not in second.body
    assert len(third.talk) == 1, "another agent on the same task reads its thread, but not this transcript"
    assert len(set(addresses(gateway))) == 3


@requirement("S0.route.base.kept")
async def test_the_main_desk_stays_usable_and_its_old_spelling_leads_to_it(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    for scoped in (True, False):
        settings = Settings(sessions=SessionsSettings(task_scoped=scoped))
        async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
            spelled = f"agent:main:{server.access.account_id}"
            found = await server.read(partial(find_session, access=server.access, reference=spelled))
            run = await server.ask("hello", found.key.rest)
            assert (run.key, run.state) == ("agent:main:main", "completed")


@requirement("S0.route.flag.sessions")
async def test_without_task_desks_work_goes_to_the_main_one_and_nothing_is_lost(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    for scoped in (True, False, True):
        settings = Settings(sessions=SessionsSettings(task_scoped=scoped))
        async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
            key = await lane_of(server, task_id="task_1")
            await server.ask(f"scoped is {scoped}", key.rest, task_id="task_1")
            caller = await server.read(partial(open_session_of, access=server.access, key="agent:main:task:task_1"))
            assert caller is not None
            assert caller.generation == 1
    assert addresses(gateway) == ["agent:main:task:task_1:v1", "agent:main:main:v1", "agent:main:task:task_1:v1"]
    assert gateway.requests[1].json["metadata"]["taskId"] == "task_1"
    transcript = [item["content"][-1]["text"] for item in gateway.requests[2].talk]
    assert transcript == ["scoped is True", "Good.", "scoped is True"], "the session has what was said there before"


@requirement("S0.route.flag.independent")
@pytest.mark.parametrize("scoped", [True, False])
@pytest.mark.parametrize("instructions", ["v2", "inline"])
async def test_both_switches_in_all_positions_deliver_a_run(
    sqlite_url: str, gateway: ScriptedGateway, scoped: bool, instructions: str
) -> None:
    gateway.script(text("Good."))
    settings = Settings(
        sessions=SessionsSettings(task_scoped=scoped),
        delivery=DeliverySettings(instructions="inline" if instructions == "inline" else "v2"),
    )
    async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
        key = await lane_of(server, task_id="task_1")
        run = await server.ask("hello", key.rest, task_id="task_1")
    (request,) = gateway.requests
    assert run.reply == "Good."
    assert key.rest == ("task:task_1" if scoped else "main")
    assert ("instructions" in request.json) == (instructions == "v2")


@requirement("S0.route.inflight")
async def test_a_turn_whose_session_is_reset_ends_in_the_generation_it_began_in(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    gate = Gate()
    gateway.script(
        calls(("session_status", {}), before=gate), calls(("artifact_add", {"text": "x"})), text("Old."), text("New.")
    )
    old = await server.send("hello")
    new = await server.send("and again")
    await gate.reached()
    await server.db.write(lambda tx: close_generation(tx, server.access, old.session_key, "reset"))
    gate.open()
    old, new = await server.settled(old), await server.settled(new)
    assert (old.generation, old.reply) == (1, "Old.")
    assert (new.generation, new.reply) == (2, "New.")
    assert addresses(gateway) == ["agent:main:main:v1"] * 3 + ["agent:main:main:v2"]
    assert b"Old." not in gateway.requests[-1].body, "a new generation begins with nothing"
    assert {entry.session_id for entry in await server.entries(old)} == {old.session_id}


@requirement("T.settings.place")
async def test_an_agent_reaches_the_gateway_its_profile_names_and_fails_where_that_is_gone(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("From the gateway.")
    named = {"special": gateways_to(gateway)["default"]}
    async with open_server(sqlite_url, named) as server:
        await server.make_agent("far", gateway="special")
        await server.make_agent("lost", gateway="gone")
        far, plain = await server.ask("hello", agent="far"), await server.ask("hello")
        lost = await server.ask("hello", agent="lost")
        steps = (await server.receipt(lost, with_body=True)).steps
    assert far.reply == "From the gateway."
    assert plain.reply is not None
    assert "built-in agent" in plain.reply
    assert (lost.state, lost.attempt, lost.error_code) == ("failed", 1, "gateway_not_configured")
    assert lost.error_message is not None
    assert lost.error_message.startswith("Agent lost uses gateway.gone, which is not configured. Add [gateway.gone] to")
    assert "`carrel agents update lost --gateway NAME`" in lost.error_message
    assert [step.body for step in steps] == [""], "nothing was sent to anybody"
