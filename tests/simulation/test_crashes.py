"""Whatever crashes between any two transactions: nothing accepted is lost, and nothing is done twice.

Run more of it with CARREL_SEEDS=500; a seed that failed is replayed by its number in the test's name.
"""

import os
from collections import Counter

import pytest

from carrel.journal.store import entries_since
from tests.harness.engine import open_engine
from tests.requirements.mark import requirement
from tests.simulation.world import World

SEEDS = int(os.environ.get("CARREL_SEEDS", "16"))
MESSAGES = 12


async def live_through(url: str, seed: int) -> tuple[World, list[str], list[tuple[str, str | None, str | None]]]:
    """Play a history with restarts; return the settled world, all effects, and how each message ended."""
    async with open_engine(url, seed=seed) as engine:
        world = World(engine, seed)
        await world.live(MESSAGES)
    # The store is closed with runs in the middle of their turns, and opened by a server that knows nothing of them.
    async with open_engine(url, seed=seed + 1, clock=engine.clock) as engine:
        world.open(engine)
        await world.settle()
        entries = await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=10_000))
        ends = [await engine.run(run_id) for run_id in world.accepted.values()]
        assert all([await engine.depth(run.session_key) == 0 for run in ends])
    effects = [entry.content for entry in entries if entry.type == "note"]
    return world, effects, [(run.state, run.reason, run.error_code) for run in ends]


@requirement("P.kill", "S0.x.tools.once")
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_every_accepted_message_is_answered_or_visibly_failed_and_no_write_happens_twice(
    sqlite_url: str, seed: int
) -> None:
    world, effects, ends = await live_through(sqlite_url, seed)
    assert len(world.accepted) == len(set(world.accepted.values())) == MESSAGES
    twice = [effect for effect, times in Counter(effects).items() if times > 1]
    assert not twice
    for state, reason, error_code in ends:
        assert state in ("completed", "failed", "cancelled")
        assert state == "completed" or reason or error_code, "it ended and does not say why"


async def test_the_same_history_settles_on_postgresql_too(postgres_url: str) -> None:
    world, effects, _ = await live_through(postgres_url, 1)
    assert len(world.accepted) == MESSAGES
    assert len(effects) == len(set(effects))


async def test_a_seed_replays_its_history(tmp_path_factory: pytest.TempPathFactory) -> None:
    seen = [await live_through(f"sqlite:///{tmp_path_factory.mktemp('replay') / 'carrel.db'}", 5) for _ in range(2)]
    (first, effects, ends), (second, again, ends_again) = seen
    assert first.crashes == second.crashes
    assert set(first.crashes) == {"before", "inside", "behind"}
    assert (first.accepted, effects, ends) == (second.accepted, again, ends_again)
