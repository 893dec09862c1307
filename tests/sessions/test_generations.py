"""Generations of a key: opened by the start of a run, closed for good, numbered once."""

import asyncio

from msgspec import structs

from carrel.agents import change_agent, require_agent
from carrel.journal import NewEntry, append_entry
from carrel.kernel import Provenance, SessionKey
from carrel.kernel.settings import RunsSettings, SessionsSettings, Settings
from carrel.runs.pruner import prune
from carrel.sessions import (
    LaneFilter,
    Session,
    close_generation,
    find_session,
    generations_of,
    lane_row,
    lane_rows,
    open_generation,
    open_session_of,
    set_archived,
)
from carrel.storage import Tx
from tests.harness.engine import MAIN, Engine, open_engine
from tests.requirements.mark import requirement

TASK = SessionKey.of("main", "task:task_1")


async def generations(engine: Engine, key: SessionKey = TASK) -> list[Session]:
    return await engine.db.read(lambda tx: generations_of(tx, engine.access, str(key)))


async def hear(engine: Engine, key: SessionKey = TASK) -> int:
    """Send a message, run it, and return the generation it ran in."""
    await engine.say(key, "hello")
    held = await engine.take_one()
    generation = await engine.start_turn(held)
    await engine.end(held)
    return generation


async def close(engine: Engine, key: SessionKey = TASK) -> Session | None:
    return await engine.db.write(lambda tx: close_generation(tx, engine.access, key, "reset"))


def entry_in(tx: Tx, engine: Engine, key: SessionKey) -> NewEntry:
    """Return a message in the open generation of a key."""
    session = open_session_of(tx, engine.access, str(key))
    assert session is not None
    return NewEntry(
        type="conversation", role="user", content="hello", author="user", provenance=Provenance(kind="external_user"),
        key=str(key), session_id=session.id, agent_id=key.agent, channel="api",
    )  # fmt: skip


@requirement("S0.session.create", "S0.session.fields", "S0.session.address")
async def test_the_first_run_that_starts_opens_generation_one_and_is_bound_to_it(engine: Engine) -> None:
    run = await engine.say(TASK, "hello")
    held = await engine.take_one()
    assert await engine.start_turn(held) == 1
    (session,) = await generations(engine)
    assert (session.key, session.generation, session.closed_at) == (str(TASK), 1, None)
    assert (session.agent_id, session.agent_slug, session.task_id) == ("main", "main", "task_1")
    assert (session.opened_at, session.closed_reason) == (engine.clock.now_ms(), None)
    assert session.address == "agent:main:task:task_1:v1"
    assert (session.resolution, session.id[:4]) == ("task-scoped", "ses_")
    bound = await engine.run(run.id)
    assert (bound.session_id, bound.generation) == (session.id, 1)


@requirement("S0.session.reuse")
async def test_while_a_generation_is_open_every_later_run_is_bound_to_it(engine: Engine) -> None:
    assert [await hear(engine) for _ in range(3)] == [1, 1, 1]
    assert len(await generations(engine)) == 1


@requirement("S0.session.next", "S2.x.reset.generation")
async def test_after_a_close_the_next_run_opens_the_next_generation(engine: Engine) -> None:
    await hear(engine)
    closed = await close(engine)
    assert closed is not None
    assert await close(engine) is None
    engine.advance(5)
    assert await hear(engine) == 2
    second, first = await generations(engine)
    assert (first.generation, first.closed_at, first.closed_reason) == (1, closed.closed_at, "reset")
    assert (second.generation, second.closed_at) == (2, None)


async def test_a_session_that_was_closed_after_it_was_read_is_not_opened_again(engine: Engine) -> None:
    await hear(engine, MAIN)
    (read,) = await generations(engine, MAIN)
    await close(engine, MAIN)
    opened = await engine.db.write(lambda tx: open_generation(tx, engine.access, MAIN, read))
    assert opened.generation == 2
    assert opened.id != read.id


@requirement("S0.session.unique")
async def test_twenty_concurrent_opens_open_one_generation(engine: Engine) -> None:
    runs = await asyncio.gather(*(engine.say(TASK, f"line {n}") for n in range(20)))
    assert len({run.id for run in runs}) == 20
    opened = await asyncio.gather(
        *(engine.db.write(lambda tx: open_generation(tx, engine.access, TASK)) for _ in range(20))
    )
    assert {session.id for session in opened} == {session.id for session in await generations(engine)}
    assert len(await generations(engine)) == 1
    assert len(await engine.live(TASK)) == await engine.depth(TASK) == 20


@requirement("S0.session.lazy")
async def test_queueing_reading_and_listing_open_no_session(engine: Engine) -> None:
    await engine.say(TASK, "hello")
    await engine.db.read(lambda tx: find_session(tx, engine.access, str(TASK)))
    await engine.db.read(lambda tx: lane_row(tx, engine.access, str(TASK)))
    await engine.db.read(lambda tx: lane_rows(tx, engine.access, LaneFilter(), before=None, limit=50))
    await engine.take_one()
    assert await generations(engine) == []


@requirement("S0.session.retention")
async def test_closed_sessions_are_pruned_and_their_numbers_never_issued_again(engine: Engine) -> None:
    kept = Settings(sessions=SessionsSettings(closed_retention_days=90), runs=RunsSettings(retention_days=1))
    for generation in (1, 2):
        assert await hear(engine) == generation
        await close(engine)
    engine.advance(89 * 86_400)
    await engine.db.write(lambda tx: prune(tx, kept))
    assert len(await generations(engine)) == 2
    engine.advance(2 * 86_400)
    await engine.db.write(lambda tx: prune(tx, kept))
    assert await generations(engine) == []
    assert await hear(engine) == 3


async def test_zero_days_of_retention_keep_closed_sessions_forever(sqlite_url: str) -> None:
    for_ever = Settings(sessions=SessionsSettings(closed_retention_days=0), runs=RunsSettings(retention_days=1))
    async with open_engine(sqlite_url) as engine:
        await hear(engine)
        await close(engine)
        engine.advance(36_000 * 86_400)
        await engine.db.write(lambda tx: prune(tx, for_ever))
        assert len(await generations(engine)) == 1


@requirement("S0.x.base.growth")
async def test_a_main_lane_that_has_grown_too_long_starts_its_next_generation(engine: Engine) -> None:
    short = Settings(sessions=SessionsSettings(base_entries_max=3))

    async def write(key: SessionKey, count: int) -> None:
        for _ in range(count):
            await engine.db.write(lambda tx: append_entry(tx, engine.access, entry_in(tx, engine, key)))
        while await engine.db.write(lambda tx: prune(tx, short)):
            pass

    assert [await hear(engine, key) for key in (MAIN, TASK)] == [1, 1]
    await write(MAIN, 2)
    await write(TASK, 5)
    assert [await hear(engine, key) for key in (MAIN, TASK)] == [1, 1]
    await write(MAIN, 1)
    assert [await hear(engine, key) for key in (MAIN, TASK)] == [2, 1]
    assert [session.closed_reason for session in await generations(engine, MAIN)] == [None, "rotated"]


async def test_opening_and_closing_append_one_event_each(engine: Engine) -> None:
    await hear(engine)
    await hear(engine)
    await close(engine)
    await close(engine)
    # Not by `events_after`: it leaves out what is not settled yet.
    rows = await engine.db.read(lambda tx: tx.all("SELECT name FROM events ORDER BY seq"))
    names = [name for (name,) in rows if name.startswith("session.")]
    assert names == ["session.opened", "session.closed"]


async def test_an_archived_lane_is_hidden_and_shown_again_by_its_next_message(engine: Engine) -> None:
    await hear(engine)
    row = await engine.db.read(lambda tx: lane_row(tx, engine.access, str(TASK)))
    assert row is not None
    assert row.state == "idle"
    await engine.db.write(lambda tx: set_archived(tx, engine.access, TASK, archived=True))
    assert await engine.db.read(lambda tx: open_session_of(tx, engine.access, str(TASK))) is None
    listed = await engine.db.read(lambda tx: lane_rows(tx, engine.access, LaneFilter(), before=None, limit=50))
    assert listed == []
    hidden = await engine.db.read(
        lambda tx: lane_rows(tx, engine.access, LaneFilter(archived=True), before=None, limit=50)
    )
    assert [found.lane.key for found in hidden] == [str(TASK)]
    assert hidden[0].state == "closed"
    assert await hear(engine) == 2
    again = await engine.db.read(lambda tx: lane_rows(tx, engine.access, LaneFilter(), before=None, limit=50))
    assert [found.lane.key for found in again] == [str(TASK)]


async def test_lists_page_newest_first_without_repeats_or_gaps(engine: Engine) -> None:
    keys = [SessionKey.of("main", f"hook:l{n}") for n in range(7)]
    for n, key in enumerate(keys):
        engine.advance(n % 3)
        await engine.say(key, "hello")
    seen: list[str] = []
    before: tuple[int, str] | None = None
    while True:
        page = await engine.db.read(
            lambda tx, before=before: lane_rows(tx, engine.access, LaneFilter(), before=before, limit=3)  # type: ignore[misc]
        )
        if not page:
            break
        seen += [row.lane.key for row in page]
        before = (page[-1].lane.updated_at, page[-1].lane.key)
    assert sorted(seen) == sorted(map(str, keys))
    assert seen[0] == str(keys[-1])


async def test_a_search_takes_pattern_characters_literally(engine: Engine) -> None:
    for name in ("a_b", "aXb"):
        await engine.say(SessionKey.of("main", f"hook:{name}"), "hello")
    for q, wanted in (("A_B", ["a_b"]), ("axb", ["aXb"]), ("%", []), ("!", [])):
        rows = await engine.db.read(
            lambda tx, q=q: lane_rows(tx, engine.access, LaneFilter(q=q), before=None, limit=9)  # type: ignore[misc]
        )
        assert [row.lane.conversation.removeprefix("hook:") for row in rows] == wanted


async def test_the_slug_of_a_session_is_its_agents_slug_when_it_was_opened(engine: Engine) -> None:
    await hear(engine)
    agent = await engine.db.read(lambda tx: require_agent(tx, engine.access, "main"))
    await engine.db.write(lambda tx: change_agent(tx, engine.access, structs.replace(agent, slug="chief")))
    await close(engine)
    await hear(engine)
    assert [session.agent_slug for session in await generations(engine)] == ["chief", "main"]
