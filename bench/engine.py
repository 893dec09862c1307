"""The engine under measurement: a store, an account, a dispatcher and clients. No HTTP and no model."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from carrel.kernel import SessionKey, SystemClock, elapsed_seconds
from carrel.kernel.settings import RunsSettings
from carrel.main.assembly import open_store
from carrel.runs import Claim, Dispatcher, Outcome, Rules
from carrel.runs.dispatcher import Handler
from carrel.storage import FEED
from tests.harness.engine import DONE, Engine, engine_on

T = TypeVar("T")
CLIENTS = 32
CONCURRENCY = RunsSettings().concurrency
DRAIN_SECONDS_MAX = 120
_POLL_SECONDS = 0.002
# About as long as what people write to an agent.
TEXT = "Please look at the report of last week, write down what is missing and tell the others when it is done. " * 2
_ROWS = "CREATE TABLE IF NOT EXISTS bench_rows (owner TEXT, n BIGINT, said TEXT, PRIMARY KEY (owner, n))"
_ROW = "INSERT INTO bench_rows (owner, n, said) VALUES (:owner, :n, :said)"


async def answer_at_once(_run: Claim) -> Outcome:
    """Do nothing: what is left is the engine's own time."""
    return DONE


class BenchEngine(Engine):
    """An engine with the clients of a benchmark, and bare commits beside them."""

    _numbers = itertools.count(1)

    async def send(self, lane: str) -> None:
        """Send one message to a lane; it is durable when this returns."""
        await self.say(_key(lane), TEXT)

    async def send_all(self, lanes: list[str]) -> None:
        """Send one message to each of the lanes, by 32 clients at once."""
        await by_clients(lanes, self.send)

    async def insert(self, _: object = None) -> None:
        """Commit one bare row through the same writer, as a yardstick."""
        number = next(self._numbers)
        await self.db.write(lambda tx: tx.run(_ROW, owner="me", n=number, said=TEXT))

    @asynccontextmanager
    async def working(
        self, handler: Handler = answer_at_once, *, concurrency: int = CONCURRENCY, worker: str = "bench"
    ) -> AsyncIterator[Dispatcher]:
        """A dispatcher at work until the block ends, with as many slots as a server has by default."""
        async with super().working(handler, concurrency=concurrency, worker=worker) as dispatcher:
            yield dispatcher

    async def drained(self, besides: str = "") -> None:
        """Return once no run is queued or running except in the lane `besides`; the wait is bounded."""
        apart = str(_key(besides))
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            bell = self.db.bell(FEED)
            while await self.db.read(
                lambda tx: tx.one("SELECT 1 FROM lanes WHERE depth > 0 AND key <> :apart LIMIT 1", apart=apart)
            ):
                # A look at every commit would slow down what is measured.
                await bell.wait(bell.version, _POLL_SECONDS)
                await asyncio.sleep(_POLL_SECONDS)


def _key(lane: str) -> SessionKey:
    return SessionKey("main", f"hook:{lane}")


@asynccontextmanager
async def open_bench(url: str | Path, durability: str) -> AsyncIterator[BenchEngine]:
    """An engine on a store of its own: a folder for SQLite, else an address."""
    address = f"sqlite:///{url / 'bench.db'}" if isinstance(url, Path) else url
    clock, rules = SystemClock(), Rules()
    db = open_store(address, durability=durability)
    try:
        await db.write(lambda tx: tx.run(_ROWS))
        yield BenchEngine(db, clock, (await engine_on(db, clock, rules)).access, rules)
    finally:
        await db.close()


async def by_clients(items: list[T], send: Callable[[T], Awaitable[object]], clients: int = CLIENTS) -> None:
    """Let `clients` at once take the items one after another, each waiting for its own before it takes the next."""
    waiting = iter(items)

    async def client() -> None:
        for item in waiting:
            await send(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())


async def rate(count: int, work: Callable[[], Awaitable[None]]) -> float:
    """Return how many per second, when `work` does `count` of them."""
    begun = elapsed_seconds()
    await work()
    return count / (elapsed_seconds() - begun)
