"""Agents that go round in circles: what holds them, who is asked, and what lets them go on."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from carrel.kernel.limits import LOOP_SAME_MAX, LOOP_STALE_MAX, LOOP_TALK_RUNS_MAX
from carrel.loops import allow_loop
from carrel.monitoring import explain
from carrel.notifications import OWNERS, newest_notifications
from carrel.runs import Run, stop_lane
from tests.budgets.limited import Limited, limited_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text

pytestmark = pytest.mark.anyio
LOOK = ("session_status", {"sessionKey": "agent:main:nowhere"})


@pytest.fixture
async def server(anyio_backend: str, store_url: str, gateway: ScriptedGateway) -> AsyncIterator[Limited]:
    async with limited_server(store_url, gateway) as opened:
        yield opened


def looking(_request: Request) -> Answer:
    """Look at the same thing again and again."""
    return calls(LOOK)


async def told(server: Limited) -> list[str]:
    found = await server.read(lambda tx: newest_notifications(tx, server.access, OWNERS, limit=10))
    return [one.body for one in found if one.type == "loop"]


async def allow(server: Limited, run: Run) -> None:
    run = await server.run(run)
    await server.db.write(lambda tx: allow_loop(tx, server.access, run))


async def held_run(server: Limited, sent: Run) -> Run:
    """Return a run that is held, once the server is at rest."""
    await server.until_at_rest()
    run = await server.run(sent)
    assert (run.state, run.held_for, run.error_code) == ("queued", ":loop", "loop_suspected")
    return run


@requirement("P.loop.held", "P.loop.asked")
async def test_a_run_that_makes_the_same_call_with_the_same_result_is_held_and_people_are_asked_once(
    server: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = looking
    run = await held_run(server, await server.send("look"))
    text_told = (
        "Agent Main has made the same call with the same result 5 times in a row; it goes on when somebody lets it, "
        "or sends it a message."
    )
    assert len(gateway.requests) == LOOP_SAME_MAX
    assert await told(server) == [text_told]
    why = await server.read(lambda tx: explain(tx, server.access, run))
    assert (why.reasons[0].code, why.reasons[0].text) == ("loop_suspected", text_told)
    assert run.attempt == 0
    await server.kill()
    server.start()
    # A server that starts looks again at what is held.
    again = "SELECT 1 FROM runs WHERE id = :id AND claim_no > :claim_no"
    await server.until(lambda tx: tx.one(again, id=run.id, claim_no=run.claim_no) is not None)
    await held_run(server, run)
    assert len(gateway.requests) == LOOP_SAME_MAX, "a restart sends nothing"
    assert await told(server) == [text_told], "and asks nobody again"


@requirement("P.loop.asked")
async def test_a_loop_that_may_go_on_is_counted_anew(server: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(server, await server.send("look"))
    await allow(server, run)
    await held_run(server, run)
    assert len(gateway.requests) == 2 * LOOP_SAME_MAX
    assert len(await told(server)) == 2
    await allow(server, run)
    gateway.rule = lambda _request: text("Nothing there.")
    assert (await server.settled(run)).reply == "Nothing there."


@requirement("P.loop.held")
async def test_a_cycle_of_several_calls_without_any_new_result_is_a_loop(
    server: Limited, gateway: ScriptedGateway
) -> None:
    places = ("one", "two", "three")
    steps = count()
    gateway.rule = lambda _request: calls(
        ("session_status", {"sessionKey": f"agent:main:{places[next(steps) % len(places)]}"})
    )
    run = await held_run(server, await server.send("look around"))
    assert f"made {LOOP_STALE_MAX} calls in a row without any new result" in (run.error_message or "")
    assert len(gateway.requests) == len(places) + LOOP_STALE_MAX


@requirement("P.loop.news")
async def test_calls_whose_results_differ_are_no_loop(server: Limited, gateway: ScriptedGateway) -> None:
    steps = count()
    names = [f"agent:main:place-{n}" for n in range(15)]
    gateway.rule = lambda request: (
        calls(("session_status", {"sessionKey": names[at]})) if (at := next(steps)) < len(names) else text("Done.")
    )
    assert (await server.ask("look everywhere")).reply == "Done."
    assert await told(server) == []


@requirement("P.loop.news")
async def test_what_people_ask_for_again_and_again_is_no_loop(server: Limited, gateway: ScriptedGateway) -> None:
    answers = (answer for _ in range(10) for answer in (calls(LOOK), text("Nothing there.")))
    gateway.rule = lambda _request: next(answers)
    for _ in range(10):
        assert (await server.ask("look")).state == "completed"
    assert await told(server) == []


@requirement("P.loop.person")
async def test_a_persons_message_lets_a_held_session_go_on(server: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(server, await server.send("look"))
    gateway.rule = lambda _request: text("I see.")
    after = await server.send("stop looking, and tell me what you see")
    assert (await server.settled(run)).reply == "I see."
    assert (await server.settled(after)).state == "completed"


async def test_a_session_that_is_stopped_is_held_no_more(server: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(server, await server.send("look"))
    await server.db.write(lambda tx: stop_lane(tx, server.access, run.key, "stopped"))
    assert (await server.run(run)).state == "cancelled"
    gateway.rule = lambda _request: text("Yes?")
    assert (await server.ask("hello")).reply == "Yes?"


@requirement("P.loop.held")
async def test_agents_that_only_answer_one_another_are_held(server: Limited, gateway: ScriptedGateway) -> None:
    turns = count()
    gateway.rule = lambda _request: text(f"And a good day to you, for the {next(turns)}th time.")
    root = await server.ask("greet the others")

    async def greet() -> Run:
        return await server.send("Good day!", "hook:greeted", kind="inter_session", parent_run_id=root.id)

    for _ in range(LOOP_TALK_RUNS_MAX):
        run = await greet()
        assert (await server.settled(run)).state == "completed"
    assert "answered other agents 30 times in a row" in (await told(server))[0]
    more = await greet()
    await held_run(server, more)
    assert len(await told(server)) == 1
    await allow(server, more)
    assert (await server.settled(more)).state == "completed"
