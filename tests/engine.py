"""What the tests of the engine share: a store on a clock that stands still, some verbs on it, a worker to command."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from carrel.access import account_by_slug, every_account
from carrel.agents import Profile, make_agent, open_account
from carrel.journal import Event
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    Access,
    Clock,
    Envelope,
    Message,
    Provenance,
    SessionKey,
    SystemClock,
    system_access,
)
from carrel.kernel.settings import RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.runs import (
    Claim,
    Completed,
    Dispatcher,
    Handler,
    Outcome,
    Rules,
    Run,
    bind_session,
    cancel,
    deliver,
    fence,
    live_runs_of_lane,
    run_by_id,
)
from carrel.runs.claims import claim
from carrel.runs.leases import rescue_lost
from carrel.runs.model import RUNS
from carrel.runs.outcomes import settle, settle_and_claim
from carrel.sessions import open_generation
from carrel.storage import Database, Tx
from tests.accounts import ensure_default_account
from tests.resting import wait_for_rest

T = TypeVar("T")
SECONDS_MAX = 20.0
LEASE_MS = 60_000
START_MS = 1_760_000_000_000
MAIN = SessionKey.of("main", "main")
DONE = Completed(reply="done")


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, seconds: float) -> None:
        """Move on."""
        self._now_ms += int(seconds * 1000)


def lane_key(name: str) -> SessionKey:
    """The key of a hook's lane of agent main, by a name of the test's choosing."""
    return SessionKey.of("main", f"hook:{name}")


def words(text: str) -> Message:
    """Something a person says."""
    return Message(text=text, provenance=Provenance(kind="external_user"))


def envelope(
    key: SessionKey, text: str, *, sender_id: str | None = None, kind: str = "external_user", timeout_seconds: int = 0
) -> Envelope:
    """A plain message for a lane."""
    said = Message(text=text, provenance=Provenance(kind=kind), sender_id=sender_id)  # type: ignore[arg-type]
    return Envelope(key=key, message=said, timeout_seconds=timeout_seconds)


class Engine:
    """A store with its default account, and the verbs by which tests move runs through it."""

    def __init__(self, db: Database, clock: Clock, access: Access, rules: Rules) -> None:
        self.db = db
        self.clock = clock
        self.access = access
        self.rules = rules

    def advance(self, seconds: float) -> None:
        """Move the fake clock on and let a waiting dispatcher look again."""
        assert isinstance(self.clock, FakeClock)
        self.clock.advance(seconds)
        self.db.bell(RUNS).ring()

    async def say(
        self,
        key: SessionKey,
        text: str,
        *,
        sender_id: str | None = None,
        kind: str = "external_user",
        timeout_seconds: int = 0,
        access: Access | None = None,
    ) -> Run:
        """Deliver a message."""
        said = envelope(key, text, sender_id=sender_id, kind=kind, timeout_seconds=timeout_seconds)
        return await self.db.write(lambda tx: deliver(tx, access or self.access, said, self.rules))

    async def take(self, limit: int = 1, *, worker: str = "worker-1", lease_ms: int = LEASE_MS) -> list[Claim]:
        """Claim what is due."""
        return await self.db.write(lambda tx: claim(tx, worker, lease_ms, limit))

    async def take_one(self) -> Claim:
        """Claim the one run that is due."""
        (taken,) = await self.take(2)
        return taken

    async def end(self, held: Claim, outcome: Outcome = DONE) -> None:
        """Settle a claim."""
        await self.db.write(lambda tx: settle(tx, held, outcome))

    async def cancel(self, run_id: str, reason: str = "stopped") -> Run | None:
        """Cancel a run."""
        return await self.db.write(lambda tx: cancel(tx, self.access, run_id, reason))

    async def rescue(self) -> int:
        """Let the lifeline look once."""
        return await self.db.write(rescue_lost)

    async def run(self, run_id: str) -> Run:
        """The run as it is stored now."""
        found = await self.db.read(lambda tx: run_by_id(tx, self.access, run_id))
        assert found is not None
        return found

    async def rest(self, run_id: str) -> Run:
        """The run once it rests."""
        found = await wait_for_rest(self.db, self.access, run_id, SECONDS_MAX)
        assert found.state not in ("queued", "running"), f"still {found.state}"
        return found

    async def live(self, key: SessionKey) -> list[Run]:
        """What is running, queued or waiting in a lane."""
        return await self.db.read(lambda tx: live_runs_of_lane(tx, self.access, str(key)))

    async def depth(self, key: SessionKey) -> int:
        """The counter of the lane."""
        row = await self.db.read(
            lambda tx: tx.one(
                "SELECT depth FROM lanes WHERE account_id = :account AND key = :key",
                account=self.access.account_id,
                key=str(key),
            )
        )
        return 0 if row is None else int(row[0])

    async def hear(self, held: Claim) -> int:
        """Bind a claimed run to its generation as the start of a turn does; the generation."""

        def work(tx: Tx) -> int:
            fence(tx, held)
            session = open_generation(tx, held.access, held.session_key)
            bind_session(tx, held, session.id, session.generation)
            return session.generation

        return await self.db.write(work)

    async def another_account(self, slug: str) -> Access:
        """The house's access to a new account."""
        account, _ = await self.db.write(lambda tx: open_account(tx, slug.title(), slug))
        return system_access(account.id, account.slug)

    async def make_agent(self, agent_id: str, access: Access | None = None) -> None:
        """One more agent."""
        await self.db.write(lambda tx: make_agent(tx, access or self.access, agent_id, agent_id.title(), Profile()))


def events_of_run(tx: Tx, access: Access, run_id: str) -> list[Event]:
    """What the feed holds of one run, settled or not."""
    rows = tx.all(
        f"SELECT {', '.join(Event.__struct_fields__)} FROM events "
        "WHERE account_id = :account AND run_id = :run_id ORDER BY seq",
        account=access.account_id,
        run_id=run_id,
    )
    return [Event(*row) for row in rows]


async def engine_on(db: Database, clock: Clock, rules: Rules) -> Engine:
    """An Engine on an open store."""
    await db.write(ensure_default_account)
    account = await db.read(lambda tx: account_by_slug(tx, DEFAULT_ACCOUNT_SLUG))
    assert account is not None
    return Engine(db, clock, system_access(account.id, account.slug), rules)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A bare store, open for the length of a block."""
    db = open_store(url, durability="normal")
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def open_engine(
    url: str, *, clock: Clock | None = None, rules: Rules | None = None, seed: int = 7, real: bool = False
) -> AsyncIterator[Engine]:
    """An Engine on the store at `url`, on a fake clock unless the real one is wanted."""
    clock = clock or (SystemClock() if real else FakeClock())
    db = open_store(url, durability="normal", clock=clock, chance=random.Random(seed))
    try:
        yield await engine_on(db, clock, rules or Rules())
    finally:
        await db.close()


class Commanded:
    """A handler whose turns begin when the dispatcher starts them and end when the test says how."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Claim] = asyncio.Queue()
        self.stopped: list[str] = []
        self._turns: dict[str, asyncio.Future[Outcome]] = {}

    async def turn(self, held: Claim) -> Outcome:
        """What the dispatcher calls."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._turns[held.id] = future
        self.begun.put_nowait(held)
        try:
            return await future
        except asyncio.CancelledError:
            self.stopped.append(held.id)
            raise

    async def next(self) -> Claim:
        """The next turn that begins."""
        return await within(self.begun.get())

    def end(self, run_id: str, outcome: Outcome = DONE) -> None:
        """Let a turn end so."""
        self._turns.pop(run_id).set_result(outcome)

    def fail(self, run_id: str, error: Exception) -> None:
        """Let a turn break off."""
        self._turns.pop(run_id).set_exception(error)


@asynccontextmanager
async def working(
    engine: Engine, handler: Handler, *, concurrency: int = 8, worker: str = "worker-1"
) -> AsyncIterator[Dispatcher]:
    """A dispatcher at work until the block ends."""
    settings = Settings(runs=RunsSettings(concurrency=concurrency))
    dispatcher = Dispatcher(engine.db, handler, settings, worker)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(dispatcher.serve())
        yield dispatcher
        serving.cancel()


async def within(wanted: Awaitable[T], seconds_max: float = SECONDS_MAX) -> T:
    """The result, or a failure once the time is up."""
    async with asyncio.timeout(seconds_max):
        return await wanted


async def until(engine: Engine, bell: str, holds: Callable[[Tx], bool]) -> None:
    """Wait, bounded, until what is stored satisfies a condition; `bell` says when it is worth to look again."""
    ring = engine.db.bell(bell)
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            version = ring.version
            if await engine.db.read(holds):
                return
            await ring.wait(version, 1.0)


async def accounts_of(db: Database) -> list[str]:
    """The slugs of all accounts."""
    return [account.slug for account in await db.read(every_account)]


def end_and_claim(tx: Tx, *ended: Claim, outcome: Outcome = DONE) -> list[Claim]:
    """End runs and take as many in the same transaction, as the slots of a dispatcher do."""
    return settle_and_claim(tx, [(held, outcome) for held in ended], "worker-1", LEASE_MS)
