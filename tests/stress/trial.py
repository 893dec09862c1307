"""One trial: writers that are killed, followers that must see everything, a foreign transaction, and a probe."""

import asyncio
import contextlib
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator

import msgspec
import psycopg
from msgspec import Struct

from carrel.journal import feed_pages
from carrel.kernel import system_access
from carrel.main.assembly import open_store
from carrel.storage.postgres import migrate_postgres
from carrel.storage.postgres_transaction import NEWEST
from tests.harness.engine import SECONDS_MAX
from tests.postgres import PostgresServer
from tests.stress.writer import ACCOUNT

# How long followers may take for what was written before the writers stopped, on a busy machine.
_CATCH_UP_SECONDS_MAX = 90


class Plan(Struct, frozen=True, kw_only=True):
    """How long a trial takes, and with how many."""

    seconds: float = 60
    writers: int = 3
    followers: int = 3
    seed: int = 1


class Report(Struct, kw_only=True):
    """What a trial has found."""

    events: int = 0
    killed: int = 0
    # Events that a follower never saw, or saw twice or out of order.
    missed: int = 0
    # How long after it was written an event was seen: the median, the 99th of a hundred, and the longest.
    seen_after_ms: tuple[float, float, float] = (0, 0, 0)
    looks: int = 0
    # How often the newest number went back, which shows that one was read that nobody had drawn.
    looks_back: int = 0

    @property
    def passed(self) -> bool:
        """Whether every promise was kept."""
        return self.events > 0 and not self.missed and not self.looks_back


class _Follower:
    """Follows the feed on a store of its own, as another server does."""

    def __init__(self, url: str) -> None:
        self._db = open_store(url)
        self.seen: list[int] = []
        self.delays: list[float] = []

    async def follow(self) -> None:
        async for page in feed_pages(self._db, system_access(ACCOUNT), 0, wait_seconds=SECONDS_MAX):
            now = time.time()
            self.seen += [event.seq for event in page]
            self.delays += [now - msgspec.json.decode(event.body)["at"] for event in page]

    async def close(self) -> None:
        await self._db.close()


async def run(server: PostgresServer, plan: Plan) -> Report:
    """Run a trial on a new database and report."""
    url, report = server.create_database(), Report()
    _prepare(url)
    followers = [_Follower(url) for _ in range(plan.followers)]
    following = [asyncio.ensure_future(follower.follow()) for follower in followers]
    probe = asyncio.ensure_future(_probe(server.create_database(), report))
    try:
        with _foreign_transaction(server.url()):
            async with _writers(url, plan, report):
                await asyncio.wait([*following, probe], timeout=plan.seconds, return_when=asyncio.FIRST_EXCEPTION)
                # On a busy machine, a writer may take longer than that to begin.
                async with asyncio.timeout(_CATCH_UP_SECONDS_MAX):
                    while not _written(url):
                        await asyncio.wait(following, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            probe.cancel()
            async with asyncio.timeout(_CATCH_UP_SECONDS_MAX):
                # A commit that was under way when its writer was killed may still come.
                while any(one.seen[-1:] != (written := _written(url))[-1:] for one in followers):
                    await asyncio.wait(following, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in (*following, probe):
            task.cancel()
        for ended in await asyncio.gather(*following, probe, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError):
                raise AssertionError("a follower or the probe ended") from ended
        for follower in followers:
            await follower.close()
    delays = sorted(delay for follower in followers for delay in follower.delays)
    report.events = len(written)
    report.missed = sum(_differences(written, follower.seen) for follower in followers)
    report.seen_after_ms = (_ms(delays[len(delays) // 2]), _ms(delays[len(delays) * 99 // 100]), _ms(delays[-1]))
    return report


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _differences(written: list[int], seen: list[int]) -> int:
    return 0 if seen == written else max(1, len(set(written) ^ set(seen)))


def _prepare(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        migrate_postgres(connection)
        sql = "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES (%s, 'stress', 'Stress', '{}', 0)"
        connection.execute(sql, (ACCOUNT,))


def _written(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT seq FROM events ORDER BY seq")]


@contextlib.contextmanager
def _foreign_transaction(url: str) -> Iterator[None]:
    """Keep a transaction open that has written, in another database of the same cluster."""
    with psycopg.connect(url) as foreign:
        foreign.execute("SELECT pg_current_xact_id()")
        yield


@contextlib.asynccontextmanager
async def _writers(url: str, plan: Plan, report: Report) -> AsyncIterator[None]:
    chance = random.Random(plan.seed)

    def begin() -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-m", "tests.stress.writer", url, str(chance.getrandbits(32))])

    writing = [begin() for _ in range(plan.writers)]

    async def kill_now_and_then() -> None:
        never = asyncio.Event()
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(never.wait(), 1 + chance.random() * 2)
            if not await asyncio.to_thread(_written, url):
                continue
            victim = chance.randrange(plan.writers)
            writing[victim].kill()
            writing[victim].wait()
            writing[victim] = begin()
            report.killed += 1

    killing = asyncio.ensure_future(kill_now_and_then())
    try:
        yield
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        for writer in writing:
            writer.kill()
            writer.wait()


# As many looks as an argument says, inside the server, where they are fastest: how often the newest number went back.
_LOOKS_BACK = f"""CREATE FUNCTION looks_back(looks int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    newest bigint := 0;
    seen bigint;
    back int := 0;
BEGIN
    FOR look IN 1..looks LOOP
        seen := ({NEWEST});
        back := back + (seen < newest)::int;
        newest := seen;
    END LOOP;
    RETURN back;
END $$"""
_AT_A_TIME = 20_000


async def _probe(url: str, report: Report) -> None:
    """Draw numbers and read the newest one as the horizon does, both as fast as possible; it must never go back."""
    with psycopg.connect(url, autocommit=True) as drawing, psycopg.connect(url, autocommit=True) as looking:
        drawing.execute("CREATE SEQUENCE ticks")
        drawing.execute(_LOOKS_BACK)
        draw = f"SELECT count(nextval('ticks')) FROM generate_series(1, {_AT_A_TIME})"
        while True:
            drawn = asyncio.to_thread(drawing.execute, draw)
            _, looked = await asyncio.gather(drawn, asyncio.to_thread(_look, looking))
            report.looks += _AT_A_TIME
            report.looks_back += looked


def _look(connection: "psycopg.Connection[tuple[int]]") -> int:
    row = connection.execute("SELECT looks_back(%s)", (_AT_A_TIME,)).fetchone()
    assert row is not None
    return row[0]
