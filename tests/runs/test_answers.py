"""Runs that wait for a person: answered, or expired."""

import pytest

from carrel.kernel import Refusal
from carrel.kernel.settings import Settings
from carrel.runs import (
    NeedsInput,
    answer,
)
from carrel.runs.pruner import prune
from tests.harness.engine import MAIN, Engine, words
from tests.requirements.mark import requirement


@requirement("S1.dispatch.waiting", "P.waiting")
async def test_an_answered_run_is_queued_before_later_messages(engine: Engine) -> None:
    asking = await engine.say(MAIN, "ask")
    await engine.end(await engine.take_one(), NeedsInput(question="which?", waiting_for="input"))
    waiting = await engine.run(asking.id)
    assert (waiting.state, waiting.waiting_for, waiting.question) == ("waiting", "input", "which?")
    assert await engine.depth(MAIN) == 0
    earlier = await engine.say(MAIN, "said before the answer")
    running = await engine.take_one()
    queued = await engine.say(MAIN, "queued before the answer")
    await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("this one")))
    later = await engine.say(MAIN, "queued after the answer")
    order = [running.id]
    while True:
        await engine.end(running)
        taken = await engine.take(2)
        if not taken:
            break
        (running,) = taken
        order.append(running.id)
    assert order == [earlier.id, queued.id, asking.id, later.id]
    with pytest.raises(Refusal):
        await engine.db.write(lambda tx: answer(tx, engine.access, asking.id, words("again")))


@requirement("P.waiting")
async def test_a_run_that_waits_too_long_for_a_person_expires(engine: Engine) -> None:
    run = await engine.say(MAIN, "ask")
    await engine.end(await engine.take_one(), NeedsInput(question="which?"))
    engine.advance(7 * 86_400)
    await engine.db.write(lambda tx: prune(tx, Settings()))
    assert (await engine.run(run.id)).state == "waiting"
    engine.advance(1)
    await engine.db.write(lambda tx: prune(tx, Settings()))
    ended = await engine.run(run.id)
    assert (ended.state, ended.reason) == ("cancelled", "expired")
