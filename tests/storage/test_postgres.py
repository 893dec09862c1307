"""What only a shared store can get wrong: slower neighbours, other processes, cut connections, collisions."""

import asyncio
import contextlib
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

import psycopg
import pytest

from carrel.journal import About, FeedStart, append_event, changes_since, events_after, feed_pages, feed_start
from carrel.journal.store import newest_event
from carrel.kernel import Access, Code, Refusal, system_access
from carrel.runs.model import RUNS
from carrel.storage import FEED, Database, LongTx, Tx, open_database, postgres
from carrel.storage.postgres import connect
from carrel.storage.postgres_transaction import BEGIN
from tests.harness.engine import MAIN, SECONDS_MAX, Commanded, open_engine, opened, within
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement

T = TypeVar("T")


def insert_account(tx: Tx, slug: str) -> Access:
    tx.run(
        "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES (:id, :slug, :slug, '{}', :now)",
        id=f"acc_{slug}",
        slug=slug,
        now=tx.now,
    )
    return system_access(f"acc_{slug}", slug)


def tell(tx: Tx, access: Access, name: str) -> None:
    append_event(tx, access, name, About(), "{}")


class Held:
    """A write that is stopped half way until it is let go."""

    def __init__(self, db: Database, before: Callable[[Tx], None], after: Callable[[Tx], None]) -> None:
        self._inside, self._go_on = threading.Event(), threading.Event()

        def work(tx: Tx) -> None:
            before(tx)
            self._inside.set()
            assert self._go_on.wait(SECONDS_MAX)
            after(tx)

        self._writing = asyncio.ensure_future(db.write(work))

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._inside.wait, SECONDS_MAX)

    async def release(self) -> None:
        self._go_on.set()
        await self._writing


def nothing(_tx: Tx) -> None:
    """Do nothing."""


def look(tx: Tx) -> None:
    """Make the first statement of a transaction, which opens it."""
    tx.one("SELECT 1")


async def names_after(db: Database, access: Access, after: int) -> list[str]:
    events = await db.read(lambda tx: events_after(tx, access, after, limit=100))
    return [event.name for event in events]


def draw(tx: Tx, access: Access, name: str) -> None:
    """Number an event long before it is committed; append_event puts that off to the end."""
    tx.run(
        "INSERT INTO events (account_id, seq, name, at, body) VALUES (:account, tick(), :name, 0, '{}')",
        account=access.account_id,
        name=name,
    )


@requirement("S4.x.feed.slow")
async def test_a_slower_neighbour_with_a_lower_number_is_never_skipped(postgres_url: str) -> None:
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        slow = Held(db, lambda tx: draw(tx, access, "slow.one"), nothing)
        await slow.reached()
        await db.write(lambda tx: tell(tx, access, "quick.one"))
        assert await names_after(db, access, 0) == []
        assert await db.read(lambda tx: newest_event(tx, access)) == 0
        await slow.release()
        assert await names_after(db, access, 0) == ["slow.one", "quick.one"]


TELL = "INSERT INTO events (account_id, seq, name, at, body) VALUES ('acc_a', tick(), %s, 0, '{}')"


@requirement("S4.x.feed.slow")
async def test_a_younger_transaction_with_a_lower_number_is_never_skipped(postgres_url: str) -> None:
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        with connect(postgres_url, "full") as older, connect(postgres_url, "full") as younger:
            older.execute("; ".join(BEGIN))
            younger.execute("; ".join(BEGIN))
            younger.execute(TELL, ("first",))
            older.execute(TELL, ("second",))
            older.execute("COMMIT")
            assert await names_after(db, access, 0) == []
            younger.execute("COMMIT")
        assert await names_after(db, access, 0) == ["first", "second"]


async def test_an_event_is_seen_soon_although_a_neighbour_that_tells_nothing_held_it_back(postgres_url: str) -> None:
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        silent = Held(db, look, nothing)
        await silent.reached()
        async with asyncio.timeout(SECONDS_MAX):
            looks = CountedReads(db)
            following = feed_pages(looks, access, 0, wait_seconds=SECONDS_MAX)
            await db.write(lambda tx: tell(tx, access, "told"))
            first = asyncio.ensure_future(anext(following))
            version = db.bell(FEED).version
            assert await names_after(db, access, 0) == []
            # It looks again much sooner than followers do that have nothing to wait for.
            await looks.many.wait()
            await silent.release()
            (event,) = await first
            assert event.name == "told"
            assert db.bell(FEED).version == version


class CountedReads(WrappedDatabase):
    """A store that tells when it has been read ten times."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.many = asyncio.Event()
        self._count = 0

    async def read(self, work: Callable[[Tx], T]) -> T:
        self._count += 1
        if self._count == 10:
            self.many.set()
        return await super().read(work)


@contextlib.contextmanager
def foreign_transaction(url: str) -> Iterator[None]:
    """A transaction of another program that has written and stays open."""
    with psycopg.connect(url) as foreign:
        foreign.execute("CREATE TABLE foreign_import (id int)")
        foreign.execute("SELECT pg_current_xact_id()")
        yield
        foreign.rollback()


@requirement("S4.x.feed.slow")
@pytest.mark.parametrize("where", ["postgres", "ours"])
async def test_a_transaction_of_another_program_holds_no_event_back(postgres_url: str, where: str) -> None:
    elsewhere = postgres_url.rpartition("/")[0] + "/postgres" if where == "postgres" else postgres_url
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        with foreign_transaction(elsewhere):
            await db.write(lambda tx: tell(tx, access, "told"))
            assert await names_after(db, access, 0) == ["told"]


async def test_a_write_that_hangs_is_undone_and_holds_no_event_back_for_long(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_NO_HANGING", postgres._NO_HANGING.replace("'10s'", "'100ms'"))
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        hanging = Held(db, lambda tx: draw(tx, access, "never"), lambda tx: draw(tx, access, "never"))
        await hanging.reached()
        async with asyncio.timeout(SECONDS_MAX):
            following = feed_pages(db, access, 0, wait_seconds=SECONDS_MAX)
            await db.write(lambda tx: tell(tx, access, "told"))
            assert [event.name for event in await anext(following)] == ["told"]
        with pytest.raises(Refusal) as refused:
            await hanging.release()
        assert refused.value.code == Code.STORAGE_UNAVAILABLE
        assert await names_after(db, access, 0) == ["told"]


async def test_a_long_read_trusts_no_number_that_it_cannot_see(postgres_url: str) -> None:
    async with opened(postgres_url) as db:
        access = await db.write(lambda tx: insert_account(tx, "a"))
        began, told = threading.Event(), threading.Event()

        def look(tx: LongTx) -> tuple[int, list[str]]:
            tx.one("SELECT 1")
            began.set()
            assert told.wait(SECONDS_MAX)
            return tx.horizon(), [event.name for event in events_after(tx, access, 0, limit=10)]

        reading = asyncio.ensure_future(db.long_read(look))
        assert await asyncio.to_thread(began.wait, SECONDS_MAX)
        await db.write(lambda tx: tell(tx, access, "told"))
        assert await db.read(lambda tx: tx.horizon()) > 0
        told.set()
        assert await reading == (0, [])


async def test_a_cursor_never_goes_back_whichever_server_answers(postgres_url: str) -> None:
    async with opened(postgres_url) as old:
        access = await old.write(lambda tx: insert_account(tx, "a"))
        slow = Held(old, look, nothing)
        await slow.reached()
        await old.write(lambda tx: tell(tx, access, "first"))
        # As on a server whose look was faster than the slow write's lock.
        cursor = 1
        async with opened(postgres_url) as new:
            assert await new.read(lambda tx: newest_event(tx, access)) < cursor
            page = await new.read(lambda tx: changes_since(tx, access, cursor, limit=10))
            assert (page.seq, page.reset, page.entries) == (cursor, False, [])
            ahead = await new.read(lambda tx: changes_since(tx, access, cursor + 1, limit=10))
            assert ahead.reset
            await slow.release()


@contextlib.asynccontextmanager
async def started_beside_a_slow_write(url: str) -> AsyncIterator[tuple[Database, Access, int]]:
    """A server that has just started while another one writes slowly: the account, and the number of its one event."""
    async with opened(url) as old:
        access = await old.write(lambda tx: insert_account(tx, "a"))
        await old.write(lambda tx: tell(tx, access, "told"))
        cursor = await old.read(lambda tx: newest_event(tx, access))
        slow = Held(old, look, nothing)
        await slow.reached()
        async with opened(url) as new:
            yield new, access, cursor
            await slow.release()


async def test_a_stream_on_a_server_that_has_just_started_begins_at_the_newest_event(postgres_url: str) -> None:
    async with started_beside_a_slow_write(postgres_url) as (new, access, cursor):
        assert await new.read(lambda tx: feed_start(tx, access, None)) == FeedStart(cursor, cursor)


async def test_a_cursor_from_another_server_is_not_ahead_of_one_that_has_just_started(postgres_url: str) -> None:
    async with started_beside_a_slow_write(postgres_url) as (new, access, cursor):
        found = await new.read(lambda tx: feed_start(tx, access, cursor))
        assert (found.after, found.reset) == (cursor, None)
        ahead = await new.read(lambda tx: feed_start(tx, access, cursor + 1))
        assert ahead.reset == "ahead"


@requirement("P.engine.two")
async def test_a_bell_rung_in_one_server_is_heard_in_the_other(postgres_url: str) -> None:
    async with opened(postgres_url) as here, opened(postgres_url) as there:
        async with asyncio.TaskGroup() as group:
            heard = group.create_task(within(there.bell(RUNS).wait(0, SECONDS_MAX)))
            while not heard.done():
                # The other's listener may not have begun to listen: ring until it hears.
                await here.write(lambda tx: tx.wake(RUNS))
        assert there.bell(RUNS).version >= 1
        assert here.bell(FEED).version == 0


async def test_two_that_write_the_same_at_once_are_both_told_what_is_there(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        runs = await asyncio.gather(*(engine.say(MAIN, "once", sender_id="m-1") for _ in range(8)))
        assert len({run.id for run in runs}) == 1
        assert await engine.depth(MAIN) == 1


def cut_all_others(url: str) -> None:
    """End every connection to the database but the one that says so."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@requirement("S2.x.lane.recovers")
async def test_cut_connections_are_made_again_and_the_dispatcher_lives_on(postgres_url: str) -> None:
    async with open_engine(postgres_url, real=True) as engine:
        desk = Commanded()
        async with engine.working(desk.turn):
            first = await engine.say(MAIN, "before")
            desk.end((await desk.next()).id)
            assert (await engine.settled(first.id)).state == "completed"
            await asyncio.to_thread(cut_all_others, postgres_url)
            assert (await engine.run(first.id)).reply == "done"
            second = await engine.say(MAIN, "after")
            desk.end((await desk.next()).id)
            assert (await engine.settled(second.id)).state == "completed"


async def test_a_server_that_is_gone_is_storage_unavailable(postgres_url: str) -> None:
    async with opened(postgres_url) as db:
        server, _, name = postgres_url.rpartition("/")
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            cut_all = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(cut_all, (name,))
            for attempt in (db.write, db.read):
                with pytest.raises(Refusal) as caught:
                    await attempt(lambda tx: tx.one("SELECT 1"))
                assert caught.value.code == Code.STORAGE_UNAVAILABLE
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert await db.read(lambda tx: tx.one("SELECT 1")) == (1,)


async def test_an_address_that_cannot_be_read_is_not_told_because_its_password_is_in_it() -> None:
    # A traceback shows lines of this very file: the word stands in none of them.
    password = "".join(reversed("hsuh"))
    with pytest.raises(Refusal) as caught:
        open_database(f"postgresql://carrel:{password}%zz@localhost/carrel")
    assert caught.value.code == Code.STORAGE_UNAVAILABLE
    assert password not in "".join(traceback.format_exception(caught.value))
