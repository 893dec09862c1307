"""The engine under measurement: a store, an account, a dispatcher and clients. No HTTP and no model."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from carrel.kernel import Access, Envelope, Message, Provenance, SessionKey, elapsed_seconds, system_access
from carrel.kernel.settings import Settings
from carrel.main.assembly import open_store
from carrel.runs import Claim, Completed, Dispatcher, Handler, Outcome, Rules, Run, deliver
from carrel.storage import FEED, Database, Tx
from tests.accounts import ensure_default_account

T = TypeVar("T")
CLIENTS = 32
DRAIN_SECONDS_MAX = 120
_POLL_SECONDS = 0.002
# About as long as what people say to an agent.
TEXT = "Please look at the report of last week, write down what is missing and tell the others when it is done. " * 2
_FROM_A_PERSON = Provenance(kind="external_user")
_DONE = Completed(reply="done")


async def answer_at_once(_run: Claim) -> Outcome:
    """The handler that does nothing: what is left is the engine's own time."""
    return _DONE


def _key(lane: str) -> SessionKey:
    return SessionKey("main", f"task:{lane}")


class Engine:
    """A store with one account and, while `working`, a dispatcher."""

    def __init__(self, db: Database, access: Access) -> None:
        self.db = db
        self.access = access
        self._rules = Rules()
        self._row = itertools.count(1)

    def said(self, lane: str) -> Callable[[Tx], Run]:
        """The work that delivers one message to a lane."""
        envelope = Envelope(key=_key(lane), message=Message(text=TEXT, provenance=_FROM_A_PERSON))
        return lambda tx: deliver(tx, self.access, envelope, self._rules)

    async def deliver(self, lane: str) -> Run:
        """Say one thing to a lane; durable when it returns."""
        return await self.db.write(self.said(lane))

    async def deliver_all(self, lanes: list[str]) -> None:
        """Say one thing to each of the lanes, by 32 clients at once."""
        await by_clients(lanes, self.deliver)

    async def insert(self, _: object = None) -> None:
        """The yardstick: one row and one commit, through the same writer."""
        number = next(self._row)
        await self.db.write(
            lambda tx: tx.run(
                "INSERT INTO bench_rows (owner, n, said) VALUES (:owner, :n, :said)", owner="me", n=number, said=TEXT
            )
        )

    async def drained(self, besides: str = "") -> None:
        """Return once no run is queued or running, but in the lane `besides`; the wait is bounded."""
        apart = str(_key(besides))
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            bell = self.db.bell(FEED)
            while await self.db.read(
                lambda tx: tx.one("SELECT 1 FROM lanes WHERE depth > 0 AND key <> :apart LIMIT 1", apart=apart)
            ):
                # A look at every commit would slow down what is measured.
                await bell.wait(bell.version, _POLL_SECONDS)
                await asyncio.sleep(_POLL_SECONDS)

    @asynccontextmanager
    async def working(self, handler: Handler = answer_at_once, *, worker: str = "bench") -> AsyncIterator[None]:
        """A dispatcher at work for the length of the block."""
        dispatcher = Dispatcher(self.db, handler, Settings(), worker)
        serving = asyncio.create_task(dispatcher.serve())
        try:
            yield
        finally:
            await dispatcher.drain(DRAIN_SECONDS_MAX)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


@asynccontextmanager
async def engine(url: str | Path, durability: str) -> AsyncIterator[Engine]:
    """An engine on a store of its own: a folder for SQLite, else an address."""
    address = f"sqlite:///{url / 'bench.db'}" if isinstance(url, Path) else url
    db = open_store(address, durability=durability)
    try:
        await db.write(ensure_default_account)
        await db.write(
            lambda tx: tx.run(
                "CREATE TABLE IF NOT EXISTS bench_rows (owner TEXT, n BIGINT, said TEXT, PRIMARY KEY (owner, n))"
            )
        )
        account = await db.read(lambda tx: tx.one("SELECT id FROM accounts"))
        assert account is not None
        yield Engine(db, system_access(account[0], "default"))
    finally:
        await db.close()


async def by_clients(items: list[T], say: Callable[[T], Awaitable[object]], clients: int = CLIENTS) -> None:
    """Let `clients` at once take the items one after another, each waiting for its own before it takes the next."""
    waiting = iter(items)

    async def client() -> None:
        for item in waiting:
            await say(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())


async def rate(count: int, work: Callable[[], Awaitable[None]]) -> float:
    """How many a second, when `work` does `count` of them."""
    begun = elapsed_seconds()
    await work()
    return count / (elapsed_seconds() - begun)
