"""Searching the board: what is found, by whom, and that nobody finds what is not theirs."""

import random

import pytest

from carrel.board import BoardQuery
from tests.board.worlds import WORDS, Rule, World, open_worlds
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio


async def look(world: World, *, is_behind: bool) -> None:
    """Search as somebody, and compare with the rule as it is now."""
    caller, word = world.caller(), world.chance.choice(WORDS)
    scope = world.scope(caller)
    query = BoardQuery(text=word, scope=scope, session_key=caller.session if caller.viewer == "agent" else None)
    found = await world.find(caller, query)
    rule = await world.engine.db.read(lambda tx: Rule(tx, world.access))
    allowed = rule.allowed(caller, scope.allowed)
    assert found <= set(allowed), (word, caller, scope)
    if not is_behind:
        assert {name for name, text in allowed.items() if word in text.split()} <= found, (word, caller, scope)


@requirement("S4.search.scope")
@pytest.mark.parametrize("seed", range(6))
async def test_everybody_finds_what_the_rule_allows_in_random_worlds_that_move(store_url: str, seed: int) -> None:
    async with open_worlds(store_url, seed) as (world, other):
        for _ in range(25):
            # Both accounts make the same steps, so that all their keys and ids are the same.
            await world.step()
            await other.step()
        chances = random.Random(seed)
        for _ in range(25):
            moved = chances.choice((world, other))
            for _ in range(3):
                await moved.step()
            await look(world, is_behind=True)
            await look(other, is_behind=True)
            if chances.random() < 0.4:
                for each in (world, other):
                    await each.catch_up()
                    await look(each, is_behind=False)
                    await look(each, is_behind=False)
