"""The engine: a store on a clock that stands still, verbs on runs, and a worker whose turns the test commands."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from carrel.access import account_by_slug, every_account
from carrel.agents import Profile, make_agent, open_account
from carrel.journal import Entry, Event, entries_of_run
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    Access,
    Clock,
    Envelope,
    Message,
    NewAttachment,
    Provenance,
    SessionKey,
    SystemClock,
    system_access,
)
from carrel.kernel.settings import RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import (
    Claim,
    Completed,
    Dispatcher,
    Outcome,
    Rules,
    Run,
    Watch,
    answer,
    bind_session,
    cancel,
    deliver,
    fence,
    live_runs_of_lane,
    run_by_id,
)
from carrel.runs.claims import claim
from carrel.runs.dispatcher import Handler
from carrel.runs.leases import rescue_lost
from carrel.runs.model import RUNS
from carrel.runs.outcomes import settle, settle_and_claim
from carrel.sessions import open_generation
from carrel.storage import Database, Tx
from tests.harness.tasks import ensure_task
from tests.harness.watched_database import WatchedDatabase, written

T = TypeVar("T")
# No wait in a test is longer than this.
SECONDS_MAX = 20.0
LEASE_MS = 60_000
START_MS = 1_760_000_000_000
MAIN = SessionKey.of("main", "main")
DONE = Completed(reply="done")


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, seconds: float) -> None:
        """Move on."""
        self._now_ms += int(seconds * 1000)


def lane_key(name: str) -> SessionKey:
    """Return the key of one of agent main's hook lanes."""
    return SessionKey.of("main", f"hook:{name}")


def words(text: str) -> Message:
    """Return a message that a person sends."""
    return Message(text=text, provenance=Provenance(kind="external_user"))


def envelope(
    key: SessionKey,
    text: str,
    *,
    sender_id: str | None = None,
    kind: Any = "external_user",
    attachments: tuple[NewAttachment, ...] = (),
    **more: Any,
) -> Envelope:
    """Return a message for a lane; `more` are further fields of the envelope."""
    source = Provenance(kind=kind)
    return Envelope(
        key=key, message=Message(text=text, provenance=source, sender_id=sender_id, attachments=attachments), **more
    )


class Engine:
    """A store with its default account, and verbs that move runs through it."""

    def __init__(self, db: Database, clock: Clock, access: Access, rules: Rules) -> None:
        self.db = db
        self.clock = clock
        self.access = access
        self.rules = rules

    def advance(self, seconds: float) -> None:
        """Move the fake clock on and wake a waiting dispatcher."""
        assert isinstance(self.clock, FakeClock)
        self.clock.advance(seconds)
        self.db.bell(RUNS).ring()

    async def say(self, key: SessionKey, text: str, *, access: Access | None = None, **more: Any) -> Run:
        """Deliver a message; `more` are the options of `envelope`."""
        return await self.deliver(envelope(key, text, **more), access)

    async def deliver(self, sent: Envelope, access: Access | None = None) -> Run:
        """Deliver an envelope; a task that it names is made first if there is none."""
        await self.make_task(sent.task_id or sent.key.task_id, access)
        return await self.db.write(lambda tx: deliver(tx, access or self.access, sent, self.rules))

    async def make_task(self, task_id: str | None, access: Access | None = None) -> None:
        """Make a task in the inbox unless it exists."""
        if task_id is not None:
            await self.db.write(lambda tx: ensure_task(tx, access or self.access, task_id))

    async def take(self, limit: int = 1, *, worker: str = "worker-1", lease_ms: int = LEASE_MS) -> list[Claim]:
        """Claim what is due."""
        return await self.db.write(lambda tx: claim(tx, worker, lease_ms, limit))

    async def take_one(self) -> Claim:
        """Claim the one run that is due."""
        (taken,) = await self.take(2)
        return taken

    async def start_turn(self, held: Claim) -> int:
        """Bind a claimed run to its generation, as the start of a turn does; return the generation."""

        def work(tx: Tx) -> int:
            fence(tx, held)
            session = open_generation(tx, held.access, held.session_key)
            bind_session(tx, held, session.id, session.generation)
            return session.generation

        return await self.db.write(work)

    async def end(self, held: Claim, outcome: Outcome = DONE) -> None:
        """Settle a claim."""
        await self.db.write(lambda tx: settle(tx, held, outcome))

    async def cancel(self, run: Run | str, reason: str = "stopped") -> Run | None:
        """Cancel a run."""
        access, run_id = self._named(run)
        return await self.db.write(lambda tx: cancel(tx, access, run_id, reason))

    async def answer(self, run: Run | str, text: str, **more: Any) -> Run:
        """Give a waiting run what it asked for."""
        access, run_id = self._named(run)
        return await self.db.write(lambda tx: answer(tx, access, run_id, words(text), **more))

    async def rescue(self) -> int:
        """Let the lifeline look once."""
        return await self.db.write(rescue_lost)

    def _named(self, run: Run | str) -> tuple[Access, str]:
        return (self.access, run) if isinstance(run, str) else (system_access(run.account_id), run.id)

    async def run(self, run: Run | str) -> Run:
        """Return the run as it is stored now."""
        access, run_id = self._named(run)
        found = await self.read(lambda tx: run_by_id(tx, access, run_id))
        assert found is not None, f"{run_id} is gone"
        return found

    async def settled(self, run: Run | str) -> Run:
        """Return the run once it has ended or waits for an answer."""
        access, run_id = self._named(run)
        watch = Watch(self.db)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(watch.serve())
            found = await watch.until_settled(access, run_id, SECONDS_MAX)
            serving.cancel()
        assert found.state not in ("queued", "running"), f"still {found.state}: {found.error_message}"
        return found

    async def runs(self, key: SessionKey, state: str | None = None) -> list[Run]:
        """Return the runs of a lane, oldest first."""
        wanted = RunFilter(key=str(key), state=state)
        return (await self.read(lambda tx: runs_newest_first(tx, self.access, wanted, before=None, limit=100)))[::-1]

    async def live(self, key: SessionKey) -> list[Run]:
        """Return what is running, queued or waiting in a lane."""
        return await self.read(lambda tx: live_runs_of_lane(tx, self.access, str(key)))

    async def depth(self, key: SessionKey) -> int:
        """Return the lane's counter of queued and running runs."""
        query = "SELECT depth FROM lanes WHERE account_id = :account AND key = :key"
        row = await self.read(lambda tx: tx.one(query, account=self.access.account_id, key=str(key)))
        return 0 if row is None else int(row[0])

    async def entries(self, run: Run) -> list[Entry]:
        """Return what the journal holds of a run."""
        return await self.read(lambda tx: entries_of_run(tx, system_access(run.account_id), run.id))

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Read from the store."""
        return await self.db.read(work)

    async def until(self, holds: Callable[[Tx], bool]) -> None:
        """Wait, bounded, until what is stored satisfies a condition."""
        await until_found(lambda: self.read(holds))

    async def another_account(self, slug: str) -> Access:
        """Create an account; return the system's access to it."""
        account, _ = await self.db.write(lambda tx: open_account(tx, slug.title(), slug))
        return system_access(account.id, account.slug)

    async def make_agent(self, agent_id: str, access: Access | None = None, **profile: Any) -> str:
        """Create an agent; return its id."""
        made = Profile(**profile)
        await self.db.write(lambda tx: make_agent(tx, access or self.access, agent_id, agent_id.title(), made))
        return agent_id

    @asynccontextmanager
    async def working(
        self, handler: Handler, *, concurrency: int = 8, worker: str = "worker-1"
    ) -> AsyncIterator[Dispatcher]:
        """A dispatcher at work until the block ends."""
        dispatcher = Dispatcher(self.db, handler, Settings(runs=RunsSettings(concurrency=concurrency)), worker)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(dispatcher.serve())
            yield dispatcher
            serving.cancel()


def ensure_default_account(tx: Tx) -> str | None:
    """Create account `default` where there is none; return its owner token then, None otherwise."""
    if account_by_slug(tx, DEFAULT_ACCOUNT_SLUG) is not None:
        return None
    return open_account(tx, "Default", DEFAULT_ACCOUNT_SLUG)[1]


async def engine_on(db: Database, clock: Clock, rules: Rules) -> Engine:
    """Return an Engine on an open store."""
    await db.write(ensure_default_account)
    account = await db.read(lambda tx: account_by_slug(tx, DEFAULT_ACCOUNT_SLUG))
    assert account is not None
    return Engine(db, clock, system_access(account.id, account.slug), rules)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A bare store, open for the length of a block."""
    db = WatchedDatabase(open_store(url, durability="normal"))
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def open_engine(
    url: str, *, clock: Clock | None = None, rules: Rules | None = None, seed: int = 7, real: bool = False
) -> AsyncIterator[Engine]:
    """An Engine on the store at `url`, on a fake clock unless `real` asks for the system's."""
    clock = clock or (SystemClock() if real else FakeClock())
    db = WatchedDatabase(open_store(url, durability="normal", clock=clock, chance=random.Random(seed)))
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
        """Take a turn; the dispatcher calls this."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._turns[held.id] = future
        self.begun.put_nowait(held)
        try:
            return await future
        except asyncio.CancelledError:
            self.stopped.append(held.id)
            raise

    async def next(self) -> Claim:
        """Return the next turn that begins."""
        return await within(self.begun.get())

    def end(self, run_id: str, outcome: Outcome = DONE) -> None:
        """End a turn with an outcome."""
        self._turns.pop(run_id).set_result(outcome)

    def fail(self, run_id: str, error: Exception) -> None:
        """End a turn with an error."""
        self._turns.pop(run_id).set_exception(error)


async def until_found(look: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool) -> T:
    """Return what a look finds once it is as wanted; look again after every write of this process.

    It is given up when nothing is written any more, however long a busy machine takes until then.
    """
    while True:
        version = written().version
        if holds(seen := await look()):
            return seen
        await written().wait(version, SECONDS_MAX)
        assert written().version != version, f"nothing more is written, and this is all there is: {seen!r}"


async def within(wanted: Awaitable[T], seconds_max: float = SECONDS_MAX) -> T:
    """Return the result, or fail once the time is up."""
    async with asyncio.timeout(seconds_max):
        return await wanted


def events_of_run(tx: Tx, access: Access, run_id: str) -> list[Event]:
    """Return what the feed holds of one run, settled or not."""
    rows = tx.all(
        f"SELECT {', '.join(Event.__struct_fields__)} FROM events "
        "WHERE account_id = :account AND run_id = :run_id ORDER BY seq",
        account=access.account_id,
        run_id=run_id,
    )
    return [Event(*row) for row in rows]


async def accounts_of(db: Database) -> list[str]:
    """Return the slugs of all accounts."""
    return [account.slug for account in await db.read(every_account)]


def end_and_claim(tx: Tx, *ended: Claim, outcome: Outcome = DONE) -> list[Claim]:
    """End runs and claim as many in the same transaction, as the slots of a dispatcher do."""
    return settle_and_claim(tx, [(held, outcome) for held in ended], "worker-1", LEASE_MS)
