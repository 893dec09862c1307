"""The feed is followed from a cursor without gaps, by as many as want to."""

import asyncio
from collections.abc import Callable

from carrel.journal import About, Event, EventFilter, append_event, events_after, feed_pages, feed_start, prune_events
from carrel.journal.store import newest_event, number_before, pruned_event
from carrel.storage import Tx
from tests.harness.engine import MAIN, SECONDS_MAX, Engine, FakeClock, events_of_run, open_engine, within
from tests.requirements.mark import requirement


def telling(engine: Engine, *names: str) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        for name in names:
            append_event(tx, engine.access, name, About(), "{}")

    return work


async def newest(engine: Engine) -> int:
    return await engine.db.read(lambda tx: newest_event(tx, engine.access))


@requirement("S4.x.feed.durable")
async def test_after_a_restart_a_cursor_yields_exactly_the_missed_events(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        await engine.db.write(telling(engine, "a", "b"))
        cursor = await newest(engine)
        await engine.db.write(telling(engine, "c", "d"))
    async with open_engine(store_url) as engine:
        await engine.db.write(telling(engine, "e"))
        found = await engine.db.read(lambda tx: feed_start(tx, engine.access, cursor))
        assert (found.after, found.reset) == (cursor, None)
        missed = await engine.db.read(lambda tx: events_after(tx, engine.access, cursor, limit=100))
        assert [event.name for event in missed] == ["c", "d", "e"]


@requirement("S4.x.feed.durable")
async def test_a_cursor_ahead_of_the_feed_or_pruned_is_reset(engine: Engine) -> None:
    assert isinstance(engine.clock, FakeClock)
    await engine.db.write(telling(engine, "old", "old"))
    old = await newest(engine)
    engine.clock.advance(100)
    await engine.db.write(telling(engine, "young"))
    young = await newest(engine)
    before = engine.clock.now_ms() - 1
    removed = await engine.db.write(lambda tx: prune_events(tx, engine.access, before, limit=500))
    assert removed >= 2
    assert await engine.db.write(lambda tx: prune_events(tx, engine.access, before, limit=500)) == 0

    async def reset_of(cursor: int | None) -> tuple[int, str | None]:
        found = await engine.db.read(lambda tx: feed_start(tx, engine.access, cursor))
        return found.after, found.reset

    assert await reset_of(None) == (young, None)
    assert await reset_of(young) == (young, None)
    assert await reset_of(young + 1) == (young, "ahead")
    assert await reset_of(old) == (old, None)
    assert await reset_of(old - 1) == (young, "pruned")
    assert await engine.db.read(lambda tx: pruned_event(tx, engine.access)) == old


async def test_when_everything_is_pruned_the_newest_cursor_is_still_valid(engine: Engine) -> None:
    await engine.db.write(telling(engine, "a"))
    cursor = await newest(engine)
    engine.advance(10)
    now = engine.clock.now_ms()
    await engine.db.write(lambda tx: prune_events(tx, engine.access, now, limit=500))
    found = await engine.db.read(lambda tx: feed_start(tx, engine.access, cursor))
    assert (found.after, found.reset) == (cursor, None)


@requirement("S4.x.feed.slow", "S1.x.stream.durable")
async def test_a_follower_gets_every_event_once_and_in_order_while_many_write(engine: Engine) -> None:
    total = 120
    start = await newest(engine)

    async def write(worker: int) -> None:
        for n in range(total // 6):
            await engine.db.write(telling(engine, f"w{worker}.{n}"))

    async def follow() -> list[Event]:
        seen: list[Event] = []
        async for page in feed_pages(engine.db, engine.access, start, wait_seconds=SECONDS_MAX):
            seen += page
            if len(seen) >= total:
                break
        return seen

    async with asyncio.TaskGroup() as group:
        followers = [group.create_task(within(follow())) for _ in range(2)]
        for worker in range(6):
            group.create_task(write(worker))
    for follower in followers:
        seen = follower.result()
        assert len({event.name for event in seen}) == len(seen) == total
        assert [event.seq for event in seen] == sorted(event.seq for event in seen)


async def test_a_quiet_feed_yields_an_empty_page_after_the_given_time(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        start = await newest(engine)
        async for page in feed_pages(engine.db, engine.access, start, wait_seconds=0.05):
            assert page == []
            break


async def test_a_moment_maps_to_the_cursor_before_its_first_event(engine: Engine) -> None:
    await engine.db.write(telling(engine, "a"))
    cursor = await newest(engine)
    engine.advance(5)
    at = engine.clock.now_ms()
    await engine.db.write(telling(engine, "b"))
    assert await engine.db.read(lambda tx: number_before(tx, engine.access, "events", at)) >= cursor
    behind = await engine.db.read(
        lambda tx: events_after(tx, engine.access, number_before(tx, engine.access, "events", at), limit=9)
    )
    assert [event.name for event in behind] == ["b"]
    later = await engine.db.read(lambda tx: number_before(tx, engine.access, "events", at + 1))
    assert later == behind[-1].seq


async def test_the_events_of_a_run_show_its_history(engine: Engine) -> None:
    run = await engine.say(MAIN, "go")
    await engine.end(await engine.take_one())
    await engine.say(MAIN, "another")
    events = await engine.db.read(lambda tx: events_of_run(tx, engine.access, run.id))
    assert [event.name for event in events] == ["run.queued", "run.started", "run.completed"]
    assert {event.key for event in events} == {str(MAIN)}


def test_a_filter_matches_what_it_names_and_no_more() -> None:
    event = Event(1, "run.queued", 0, "agent:main:main", "main", 1, "run_1", "task_1", None, None, "main", "{}")
    assert EventFilter().matches(event)
    assert EventFilter(names=("run",), key="agent:main:main", task_id="task_1").matches(event)
    assert EventFilter(names=("log", "run.*")).matches(event)
    assert EventFilter(names=("run.queued",), conversation="main").matches(event)
    assert not EventFilter(names=("ru",)).matches(event)
    assert not EventFilter(names=("run.queued.late",)).matches(event)
    for other in (
        EventFilter(key="agent:main:task:t"),
        EventFilter(conversation="x"),
        EventFilter(task_id="x"),
    ):
        assert not other.matches(event)
