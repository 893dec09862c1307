"""Steering: a message is heard at the next step of the turn at work, once, or becomes a run of its own."""

from typing import Any

import pytest
from msgspec import structs

from carrel.kernel import AT_WORK, Access, Code, Refusal, SessionKey
from carrel.runs import ClaimLost, Run, cancel, deliver, run_entry
from carrel.runs import take_up as take_messages_up
from tests.delivery.test_turn import Died, Mortal, live_through, made_calls, take_up
from tests.harness.engine import envelope
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, Request, ScriptedGateway, calls, text

MAIN = SessionKey.of("main", "main")
LOOK: tuple[str, dict[str, Any]] = ("session_status", {})


async def steered(server: Server, words: str, key: SessionKey = MAIN, **more: Any) -> Run:
    """Deliver a message that joins the run at work."""
    access: Access = more.pop("access", server.access)
    sent = envelope(key, words, **({"steers": AT_WORK} | more))
    return await server.db.write(lambda tx: deliver(tx, access, sent, server.rules))


async def die_in_the_first_turn(server: Server) -> None:
    """Take up a turn, and lose its worker once it has made the first call."""
    held = await take_up(server)
    assert held is not None
    with pytest.raises(Died):
        await server.turns_on(Mortal(server.db, 3, after=False)).take(held)


def said(request: Request) -> list[str]:
    """Return the messages and tool outputs of a request in their order, by their last words."""
    items = [item for item in request.json["input"] if item.get("role") != "developer"]
    return [item["content"][-1]["text"] if item["type"] == "message" else item["type"] for item in items]


@requirement("P.steer.step")
async def test_a_message_joins_the_turn_at_its_next_step(either_server: Server, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(calls(LOOK, before=gate), text("In French, then."))
    run = await either_server.send("Write the letter.")
    await gate.reached()
    joined = await steered(either_server, "In French, please.")
    assert joined.steers == run.id
    gate.open()
    ended = await either_server.settled(run)
    entries, own = await either_server.entries(run), await either_server.run(joined)
    assert ended.reply == "In French, then."
    assert said(gateway.requests[1]) == [
        "Write the letter.", "function_call", "function_call_output", "In French, please."
    ]  # fmt: skip
    assert [entry.role for entry in entries] == ["user", "toolCall", "toolResult", "user", "assistant"]
    assert (own.state, own.reason, own.reply) == ("completed", "steered", None)
    assert len(gateway.requests) == 2, "the message causes no turn of its own"


@requirement("P.steer.late")
async def test_a_message_for_a_turn_that_ends_first_is_an_ordinary_message(
    server: Server, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Done.", before=gate), text("In French, then."))
    run = await server.send("Write the letter.")
    await gate.reached()
    late = await steered(server, "In French, please.")
    gate.open()
    assert (await server.settled(run)).reply == "Done."
    assert (await server.settled(late)).reply == "In French, then."


@requirement("P.steer.late")
async def test_without_a_run_at_work_a_message_is_an_ordinary_one(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Hello."))
    run = await steered(server, "Good morning.")
    assert run.steers is None
    assert (await server.settled(run)).reply == "Hello."


@requirement("P.steer.order")
async def test_several_messages_are_heard_in_their_order_before_what_waits(
    server: Server, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(calls(LOOK, before=gate), text("First."), text("Second."))
    run = await server.send("Write the letter.")
    await gate.reached()
    waiting = await server.send("And then the card.")
    for words in ("In French.", "And short."):
        await steered(server, words)
    gate.open()
    await server.settled(run)
    assert said(gateway.requests[1])[-2:] == ["In French.", "And short."]
    assert (await server.settled(waiting)).reply == "Second."


@requirement("P.steer.once")
async def test_the_same_message_sent_twice_is_heard_once(server: Server, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(calls(LOOK, before=gate), text("Yes."))
    run = await server.send("Write the letter.")
    await gate.reached()
    one, again = [await steered(server, "In French.", sender_id="m-1") for _ in range(2)]
    gate.open()
    await server.settled(run)
    late = await steered(server, "In French.", sender_id="m-1")
    assert one.id == again.id == late.id
    assert said(gateway.requests[1]).count("In French.") == 1
    assert len(gateway.requests) == 2


@requirement("P.steer.once")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(10))
async def test_a_message_is_heard_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    answers = [calls(LOOK), calls(LOOK), text("The end.")]
    gateway.rule = lambda request: answers[len(made_calls(request.json["input"]))]
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        await die_in_the_first_turn(server)
        joined = await steered(server, "In French.")
        await live_through(server, [(writes, after)])
        ended, entries, own = await server.run(run), await server.entries(run), await server.run(joined)
    assert (joined.steers, ended.reply, own.reason) == (run.id, "The end.", "steered")
    assert [entry.content for entry in entries if entry.role == "user"] == ["hello", "In French."]
    assert said(gateway.requests[-1]).count("In French.") == 1


@requirement("P.steer.rights")
async def test_nobody_steers_a_run_that_may_see_more_than_they(server: Server, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(calls(LOOK, before=gate), text("Done."), text("Yours."))
    run = await server.send("Write the letter.")
    await gate.reached()
    narrow = structs.replace(server.access, space_ids=("space-default",))
    ordinary = await steered(server, "What else do you know?", access=narrow)
    with pytest.raises(Refusal) as refused:
        await steered(server, "And now?", access=narrow, steers=run.id)
    gate.open()
    await server.settled(run)
    assert ordinary.steers is None
    assert refused.value.code is Code.FORBIDDEN
    assert "What else do you know?" not in said(gateway.requests[1])
    assert (await server.settled(ordinary)).reply == "Yours."


@requirement("P.steer.late")
async def test_a_message_that_was_cancelled_is_not_heard(server: Server, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(calls(LOOK, before=gate), text("Done."))
    run = await server.send("Write the letter.")
    await gate.reached()
    joined = await steered(server, "In French.")
    await server.db.write(lambda tx: cancel(tx, server.access, joined.id, "user_cancelled"))
    gate.open()
    await server.settled(run)
    assert "In French." not in said(gateway.requests[1])
    assert len(gateway.requests) == 2


@requirement("P.steer.once")
async def test_a_worker_that_lost_its_run_takes_no_message_up(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda _: calls(LOOK)
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        lost = await take_up(server)
        await steered(server, "In French.")
        await take_up(server)
        assert lost is not None
        with pytest.raises(ClaimLost):
            await server.db.write(lambda tx: take_messages_up(tx, lost, run_entry))
        assert [entry.content for entry in await server.entries(run)] == []
