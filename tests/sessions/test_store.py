"""Archived lanes: what brings them back, in which generation they go on, and what closes them for good."""

import asyncio
import threading

import pytest

from carrel.kernel import SessionKey
from carrel.kernel.settings import RunsSettings, SessionsSettings, Settings
from carrel.runs import retire_agent
from carrel.runs.pruner import prune
from carrel.sessions import (
    NewChild,
    Session,
    close_generation,
    generations_of,
    insert_child,
    insert_lane,
    lane_of,
    open_generation,
    open_session_of,
    set_archived,
)
from carrel.sessions.model import ClosedReason
from carrel.storage import Tx
from tests.harness.engine import MAIN, Engine, open_engine
from tests.requirements.mark import requirement

CHILD = SessionKey.of("main", "subagent:0001")
SECONDS_MAX = 10


async def hear(engine: Engine, key: SessionKey = MAIN) -> int:
    """Send a message, run it, and return the generation it ran in."""
    await engine.say(key, "hello")
    return await work_off(engine)


async def work_off(engine: Engine) -> int:
    """Run the next run and return its generation."""
    held = await engine.take_one()
    generation = await engine.start_turn(held)
    await engine.end(held)
    return generation


async def archive(engine: Engine, key: SessionKey = MAIN) -> None:
    await engine.db.write(lambda tx: set_archived(tx, engine.access, key, archived=True))


async def restore(engine: Engine, key: SessionKey = MAIN) -> Session | None:
    return await engine.db.write(lambda tx: set_archived(tx, engine.access, key, archived=False))


async def session_events(engine: Engine) -> list[str]:
    rows = await engine.db.read(lambda tx: tx.all("SELECT name FROM events WHERE account_id = :account ORDER BY seq",
                                                  engine.access))  # fmt: skip
    return [name for (name,) in rows if name.startswith("session.")]


@requirement("S0.session.next")
async def test_an_archived_conversation_that_is_brought_back_goes_on_in_its_generation(engine: Engine) -> None:
    await hear(engine)
    await archive(engine)
    assert await engine.db.read(lambda tx: open_session_of(tx, engine.access, str(MAIN))) is None
    restored = await restore(engine)
    assert restored is not None
    assert (restored.generation, restored.closed_at, restored.closed_reason) == (1, None, None)
    assert await hear(engine) == 1
    assert await restore(engine) is None, "there is nothing more to bring back"
    assert await session_events(engine) == [
        "session.opened", "session.closed", "session.updated", "session.updated", "session.opened",
    ]  # fmt: skip


async def test_once_a_newer_generation_is_open_the_archived_one_stays_closed(engine: Engine) -> None:
    await hear(engine)
    await archive(engine)
    assert await hear(engine) == 2
    assert await restore(engine) is None
    assert await hear(engine) == 2
    await archive(engine)
    restored = await restore(engine)
    assert restored is not None
    assert restored.generation == 2, "the one that was archived last comes back"


@pytest.mark.parametrize("reason", ["task_done", "task_archived", "reset", "rotated"])
async def test_what_would_have_closed_an_archived_generation_closes_it_for_good(
    engine: Engine, reason: ClosedReason
) -> None:
    await hear(engine)
    await archive(engine)
    assert await engine.db.write(lambda tx: close_generation(tx, engine.access, MAIN, reason)) is None
    assert await restore(engine) is None
    (first,) = await engine.db.read(lambda tx: generations_of(tx, engine.access, str(MAIN)))
    assert (first.closed_reason, first.closed_at is None) == (reason, False)
    assert await hear(engine) == 2


async def test_a_lane_that_was_closed_before_it_was_archived_comes_back_closed(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        await hear(engine)
        await engine.db.write(lambda tx: close_generation(tx, engine.access, MAIN, "reset"))
        await archive(engine)
        assert await restore(engine) is None
        lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, MAIN))
        assert lane is not None
        assert lane.archived_at is None


async def test_disabling_an_agent_closes_its_archived_lanes_for_good(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        await hear(engine)
        await archive(engine)
        await engine.db.write(lambda tx: retire_agent(tx, engine.access, "main"))
        assert await restore(engine) is None


async def test_a_message_that_waits_when_its_lane_is_brought_back_starts_in_the_same_generation(engine: Engine) -> None:
    await hear(engine)
    await archive(engine)
    await engine.say(MAIN, "are you there?")
    assert await restore(engine) is not None
    assert await work_off(engine) == 1


async def test_a_run_that_starts_while_its_lane_is_brought_back_leaves_one_generation_open(engine: Engine) -> None:
    for _ in range(5):
        await engine.db.write(lambda tx: insert_lane(tx, engine.access, MAIN))
        await engine.db.write(lambda tx: open_generation(tx, engine.access, MAIN))
        await archive(engine)
        opened, restored = await asyncio.gather(
            engine.db.write(lambda tx: open_generation(tx, engine.access, MAIN)), restore(engine)
        )
        found = await engine.db.read(lambda tx: open_session_of(tx, engine.access, str(MAIN)))
        assert found is not None
        assert found.id == opened.id
        assert restored is None or restored.id == found.id
        await engine.db.write(lambda tx: close_generation(tx, engine.access, MAIN, "reset"))


@requirement("S2.spawn.archive")
async def test_a_sub_agent_that_was_brought_back_is_not_archived_again_at_once(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        await engine.db.write(lambda tx: insert_child(tx, engine.access, NewChild(key=CHILD, spawned_by=MAIN)))
        await hear(engine, CHILD)
        for minutes, archived in ((61, True), (0, False), (61, True)):
            engine.advance(minutes * 60)
            await engine.db.write(lambda tx: prune(tx, Settings()))
            lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, CHILD))
            assert lane is not None
            assert (lane.archived_at is not None) == archived
            await restore(engine, CHILD)


async def test_a_conversation_that_is_being_brought_back_is_not_pruned(postgres_url: str) -> None:
    kept = Settings(sessions=SessionsSettings(closed_retention_days=1), runs=RunsSettings(retention_days=1))
    async with open_engine(postgres_url) as engine:
        await hear(engine)
        await archive(engine)
        engine.advance(3 * 86_400)
        await engine.db.write(lambda tx: prune(tx, Settings(runs=RunsSettings(retention_days=1))))
        inside, go_on = threading.Event(), threading.Event()

        def hold(tx: Tx) -> None:
            set_archived(tx, engine.access, MAIN, archived=False)
            inside.set()
            assert go_on.wait(SECONDS_MAX)

        restoring = asyncio.ensure_future(engine.db.write(hold))
        assert await asyncio.to_thread(inside.wait, SECONDS_MAX)
        pruning = asyncio.ensure_future(engine.db.write(lambda tx: prune(tx, kept)))
        async with asyncio.timeout(SECONDS_MAX):
            while not await engine.db.read(lambda tx: tx.one("SELECT 1 FROM pg_locks WHERE NOT granted")):
                """Until the pruner has read which sessions are old, and waits for the lane."""
        go_on.set()
        await asyncio.gather(restoring, pruning)
        found = await engine.db.read(lambda tx: open_session_of(tx, engine.access, str(MAIN)))
        assert found is not None
        assert found.generation == 1
