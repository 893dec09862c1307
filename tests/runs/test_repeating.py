"""A unit of work may be repeated from its beginning: the dispatcher counts nothing twice because of it."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import pytest
from msgspec import structs

from carrel.kernel import Code, Refusal
from carrel.runs import Completed
from carrel.storage import Tx
from tests.harness.engine import DONE, Commanded, Engine, lane_key, within
from tests.harness.wrapped_database import WrappedDatabase

T = TypeVar("T")


class Undone(Exception):
    """Raised at the end of a unit of work to roll it back."""


class Repeating(WrappedDatabase):
    """A store that rolls every unit of work back once before it commits, as a deadlock may."""

    async def write(self, work: Callable[[Tx], T]) -> T:
        def undone(tx: Tx) -> None:
            work(tx)
            raise Undone

        with suppress(Undone):
            await super().write(undone)
        return await super().write(work)


async def test_a_repeated_claim_leaks_no_slot(engine: Engine) -> None:
    runs = [await engine.say(lane_key(f"lane-{number}"), "hello") for number in range(3)]
    repeating = Engine(Repeating(engine.db), engine.clock, engine.access, engine.rules)
    handler = Commanded()
    async with repeating.working(handler.turn, concurrency=1) as dispatcher:
        for _ in runs:
            held = await handler.next()
            handler.end(held.id, DONE)
            await engine.settled(held.id)
        await within(dispatcher.drain(5))


async def test_an_outcome_that_cannot_be_stored_fails_its_own_run_and_no_other(engine: Engine) -> None:
    bad, good = [await engine.say(lane_key(name), "hello") for name in ("bad", "good")]
    handler = Commanded()
    async with engine.working(handler.turn):
        for _ in range(2):
            await handler.next()
        handler.end(bad.id, Completed(reply="x", usage={"totalTokens": 10**30}))
        handler.end(good.id)
        ended = [(await engine.settled(run.id)).state for run in (bad, good)]
        assert ended == ["failed", "completed"]


async def test_a_program_cannot_use_a_lane_that_another_created(engine: Engine) -> None:
    program = structs.replace(engine.access, kind="client", actor_id="tok_1", agent_ids=("main",))
    await engine.say(lane_key("theirs"), "hello")
    with pytest.raises(Refusal) as caught:
        await engine.say(lane_key("theirs"), "me too", access=program)
    assert caught.value.code == Code.NOT_FOUND
    assert await engine.depth(lane_key("theirs")) == 1
    for _ in range(2):
        await engine.say(lane_key("mine"), "hello", access=program)
