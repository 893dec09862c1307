"""Agents that go round in circles: what holds them, who is asked, and what lets them go on."""

from itertools import count

from carrel.kernel.limits import LOOP_SAME_MAX, LOOP_STALE_MAX, LOOP_TALK_RUNS_MAX
from carrel.loops import allow_loop
from carrel.monitoring import explain
from carrel.notifications import OWNERS, newest_notifications
from carrel.runs import Run, stop_lane
from tests.budgets.limited import Limited
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text

LOOK = ("session_status", {"sessionKey": "agent:main:nowhere"})


def looking(_request: Request) -> Answer:
    """Look at the same thing again and again."""
    return calls(LOOK)


async def told(limited: Limited) -> list[str]:
    found = await limited.read(lambda tx: newest_notifications(tx, limited.access, OWNERS, limit=10))
    return [one.body for one in found if one.type == "loop"]


async def allow(limited: Limited, run: Run) -> None:
    run = await limited.run(run)
    await limited.db.write(lambda tx: allow_loop(tx, limited.access, run))


async def held_run(limited: Limited, sent: Run) -> Run:
    """Return a run that is held, once the server is at rest."""
    await limited.until_at_rest()
    run = await limited.run(sent)
    assert (run.state, run.held_for, run.error_code) == ("queued", ":loop", "loop_suspected")
    return run


@requirement("P.loop.held", "P.loop.asked")
async def test_a_run_that_makes_the_same_call_with_the_same_result_is_held_and_people_are_asked_once(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = looking
    run = await held_run(limited, await limited.send("look"))
    text_told = (
        "Agent Main has made the same call with the same result 5 times in a row; it goes on when somebody lets it, "
        "or sends it a message."
    )
    assert len(gateway.requests) == LOOP_SAME_MAX
    assert await told(limited) == [text_told]
    why = await limited.read(lambda tx: explain(tx, limited.access, run))
    assert (why.reasons[0].code, why.reasons[0].text) == ("loop_suspected", text_told)
    assert run.attempt == 0
    await limited.kill()
    limited.start()
    # A server that starts looks again at what is held.
    again = "SELECT 1 FROM runs WHERE id = :id AND claim_no > :claim_no"
    await limited.until(lambda tx: tx.one(again, id=run.id, claim_no=run.claim_no) is not None)
    await held_run(limited, run)
    assert len(gateway.requests) == LOOP_SAME_MAX, "a restart sends nothing"
    assert await told(limited) == [text_told], "and asks nobody again"


@requirement("P.loop.asked")
async def test_a_loop_that_may_go_on_is_counted_anew(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(limited, await limited.send("look"))
    await allow(limited, run)
    await held_run(limited, run)
    assert len(gateway.requests) == 2 * LOOP_SAME_MAX
    assert len(await told(limited)) == 2
    await allow(limited, run)
    gateway.rule = lambda _request: text("Nothing there.")
    assert (await limited.settled(run)).reply == "Nothing there."


@requirement("P.loop.held")
async def test_a_cycle_of_several_calls_without_any_new_result_is_a_loop(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    places = ("one", "two", "three")
    steps = count()
    gateway.rule = lambda _request: calls(
        ("session_status", {"sessionKey": f"agent:main:{places[next(steps) % len(places)]}"})
    )
    run = await held_run(limited, await limited.send("look around"))
    assert f"made {LOOP_STALE_MAX} calls in a row without any new result" in (run.error_message or "")
    assert len(gateway.requests) == len(places) + LOOP_STALE_MAX


@requirement("P.loop.news")
async def test_calls_whose_results_differ_are_no_loop(limited: Limited, gateway: ScriptedGateway) -> None:
    steps = count()
    names = [f"agent:main:place-{n}" for n in range(15)]
    gateway.rule = lambda request: (
        calls(("session_status", {"sessionKey": names[at]})) if (at := next(steps)) < len(names) else text("Done.")
    )
    assert (await limited.ask("look everywhere")).reply == "Done."
    assert await told(limited) == []


@requirement("P.loop.news")
async def test_what_people_ask_for_again_and_again_is_no_loop(limited: Limited, gateway: ScriptedGateway) -> None:
    answers = (answer for _ in range(10) for answer in (calls(LOOK), text("Nothing there.")))
    gateway.rule = lambda _request: next(answers)
    for _ in range(10):
        assert (await limited.ask("look")).state == "completed"
    assert await told(limited) == []


@requirement("P.loop.person")
async def test_a_persons_message_lets_a_held_session_go_on(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(limited, await limited.send("look"))
    gateway.rule = lambda _request: text("I see.")
    after = await limited.send("stop looking, and tell me what you see")
    assert (await limited.settled(run)).reply == "I see."
    assert (await limited.settled(after)).state == "completed"


async def test_a_session_that_is_stopped_is_held_no_more(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = looking
    run = await held_run(limited, await limited.send("look"))
    await limited.db.write(lambda tx: stop_lane(tx, limited.access, run.key, "stopped"))
    assert (await limited.run(run)).state == "cancelled"
    gateway.rule = lambda _request: text("Yes?")
    assert (await limited.ask("hello")).reply == "Yes?"


@requirement("P.loop.held")
async def test_agents_that_only_answer_one_another_are_held(limited: Limited, gateway: ScriptedGateway) -> None:
    turns = count()
    gateway.rule = lambda _request: text(f"And a good day to you, for the {next(turns)}th time.")
    root = await limited.ask("greet the others")

    async def greet() -> Run:
        return await limited.send("Good day!", "hook:greeted", kind="inter_session", parent_run_id=root.id)

    for _ in range(LOOP_TALK_RUNS_MAX):
        run = await greet()
        assert (await limited.settled(run)).state == "completed"
    assert "answered other agents 30 times in a row" in (await told(limited))[0]
    more = await greet()
    await held_run(limited, more)
    assert len(await told(limited)) == 1
    await allow(limited, more)
    assert (await limited.settled(more)).state == "completed"
