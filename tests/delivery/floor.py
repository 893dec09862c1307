"""A real store, the dispatcher, and turns that reach the scripted gateway or the built-in agent."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any, TypeVar

from carrel.access import account_by_slug, owner_of_default
from carrel.agents import Profile, make_agent, open_account
from carrel.delivery import BUILTIN, Connection, Live, Receipt, Turns, receipt_of
from carrel.exchanges import Exchanges
from carrel.gateway import open_gateway
from carrel.journal import Entry, entries_of_run
from carrel.kernel import Access, Envelope, Message, NewAttachment, Provenance, SessionKey, system_access
from carrel.kernel.settings import DeliverySettings, GatewaySettings, RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.outbox import Channel
from carrel.runs import Dispatcher, Rules, Run, Watch, answer, deliver, run_by_id
from carrel.runs.queue_store import expire_leases
from carrel.storage import Database, Tx
from carrel.tools import Cleanup, OpenSideRoom, Surroundings
from carrel.wire import Wire
from tests.accounts import ensure_default_account
from tests.resting import wait_for_rest
from tests.scripted_gateway import MODEL, ScriptedGateway

REST_SECONDS = 20.0
API_KEY = "key-of-the-gateway-0123456789"
T = TypeVar("T")


class NoDelay:
    """Chance for tests: ids as ever, but every draw for a delay is the shortest."""

    def __init__(self) -> None:
        self._real = random.SystemRandom()

    def random(self) -> float:
        return 0.0

    def getrandbits(self, k: int, /) -> int:
        return self._real.getrandbits(k)


class Floor:
    """One store with its turns; `start` puts a dispatcher to work, `kill` takes it away as a crash would."""

    def __init__(self, db: Database, wire: Wire, gateways: dict[str, GatewaySettings], settings: Settings) -> None:
        self.db = db
        self.live = Live()
        self.settings = settings
        self.rules = Rules(runs=settings.runs, send_policy=settings.sessions.send_policy)
        self.connections = {
            name: Connection(open_gateway(name, given, wire), given)
            for name, given in {BUILTIN: GatewaySettings(), **gateways}.items()
        }
        self.watch = Watch(db)
        self.channels: dict[str, Channel] = {}
        self.side_rooms: dict[str, OpenSideRoom] = {}
        self._dispatcher: Dispatcher | None = None
        self.turns = self.turns_on(db)
        self._working: asyncio.Task[None] | None = None
        self._workers = 0
        self.access = system_access("nobody")

    @property
    def surroundings(self) -> Surroundings:
        """The house as tools see it."""
        gateways = {name: connection.gateway for name, connection in self.connections.items()}
        return Surroundings(settings=self.settings, rules=self.rules, gateways=gateways, side_rooms=self.side_rooms)

    def turns_on(self, db: Database) -> Turns:
        """The same turns on a store that may behave differently."""
        return Turns(db, self.connections, self.surroundings, self.live, self.watch, self._aside)

    def _aside(self) -> AbstractContextManager[None]:
        return nullcontext() if self._dispatcher is None else self._dispatcher.lend_slot()

    async def prepare(self) -> None:
        """Make the default account where there is none, and stand in for its owner."""
        await self.db.write(ensure_default_account)
        self.access = await self.db.read(owner_of_default)

    def start(self) -> None:
        """Put a dispatcher to work."""
        self._workers += 1
        self._dispatcher = Dispatcher(self.db, self.turns.take, self.settings, f"worker-{self._workers}")
        self._working = asyncio.create_task(self._work(self._dispatcher))

    async def _work(self, dispatcher: Dispatcher) -> None:
        async with asyncio.TaskGroup() as group:
            for duty in (dispatcher.serve(), self.watch.serve(), self.exchanges().serve(), self.sweeping().serve()):
                group.create_task(duty)

    def exchanges(self) -> Exchanges:
        """Whoever goes on with the exchanges of this floor."""
        return Exchanges(self.db, self.settings, self.rules, self.channels)

    def sweeping(self) -> Cleanup:
        """Whoever sweeps up after the sub-agents of this floor."""
        return Cleanup(self.db, self.settings)

    async def kill(self) -> None:
        """Take the dispatcher away in the middle of whatever it does; nothing more is written."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self._working = self._dispatcher = None

    async def let_leases_end(self) -> None:
        """What a killed worker held is free at once, as it would be a while later."""
        await self.db.write(expire_leases)

    async def agent(self, agent_id: str, **profile: Any) -> str:
        """Make an agent."""
        made = Profile(**profile)
        await self.db.write(lambda tx: make_agent(tx, self.access, agent_id, agent_id.title(), made))
        return agent_id

    async def other_account(self, slug: str) -> Access:
        """Make another account; the house's access to it."""
        await self.db.write(lambda tx: open_account(tx, slug.title(), slug))
        account = await self.db.read(lambda tx: account_by_slug(tx, slug))
        assert account is not None
        return system_access(account.id, slug)

    async def say(
        self,
        text: str,
        rest: str = "main",
        *,
        agent: str = "main",
        access: Access | None = None,
        attachments: tuple[NewAttachment, ...] = (),
        **more: Any,
    ) -> Run:
        """Deliver a message to a lane."""
        message = Message(text=text, provenance=Provenance(kind="external_user"), attachments=attachments)
        envelope = Envelope(key=SessionKey.of(agent, rest), message=message, **more)
        return await self.db.write(lambda tx: deliver(tx, access or self.access, envelope, self.rules))

    async def rest(self, run: Run) -> Run:
        """The run once it rests."""
        rested = await wait_for_rest(self.db, system_access(run.account_id), run.id, REST_SECONDS)
        assert rested.state not in ("queued", "running"), f"the run is still {rested.state}: {rested.error_message}"
        return rested

    async def ask(self, text: str, rest: str = "main", **more: Any) -> Run:
        """Deliver a message and wait until its run rests."""
        return await self.rest(await self.say(text, rest, **more))

    async def answer(self, run: Run, text: str) -> None:
        """Give a waiting run what it asked for."""
        message = Message(text=text, provenance=Provenance(kind="external_user"))
        await self.db.write(lambda tx: answer(tx, system_access(run.account_id), run.id, message))

    async def reread(self, run: Run) -> Run:
        """The run as it is stored now."""
        found = await self.read(lambda tx: run_by_id(tx, system_access(run.account_id), run.id))
        assert found is not None
        return found

    async def entries(self, run: Run) -> list[Entry]:
        """What the journal holds of a run."""
        return await self.read(lambda tx: entries_of_run(tx, system_access(run.account_id), run.id))

    async def receipt(self, run: Run, *, with_body: bool = False) -> Receipt:
        """The receipt of a run as it is stored now."""
        rested = await self.reread(run)
        return await self.read(lambda tx: receipt_of(tx, system_access(run.account_id), rested, with_body=with_body))

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Read from the store."""
        return await self.db.read(work)


def to(gateway: ScriptedGateway, **changes: Any) -> dict[str, GatewaySettings]:
    """The settings that make the scripted gateway the default one."""
    whole = {"kind": "responses", "base_url": gateway.base_url, "api_key": API_KEY, "model": MODEL} | changes
    return {"default": GatewaySettings(**whole)}


def tuned(*, runs: dict[str, Any] | None = None, **delivery: Any) -> Settings:
    """Settings with some of the turn's changed."""
    return Settings(delivery=DeliverySettings(**delivery), runs=RunsSettings(**(runs or {})))


@asynccontextmanager
async def open_floor(
    url: str,
    gateways: dict[str, GatewaySettings] | None = None,
    settings: Settings | None = None,
    *,
    working: bool = True,
) -> AsyncIterator[Floor]:
    """A floor on the store at `url`; the built-in agent answers where no gateway is given."""
    db = open_store(url, chance=NoDelay())
    wire = Wire()
    floor = Floor(db, wire, gateways or {}, settings or Settings())
    try:
        await floor.prepare()
        if working:
            floor.start()
        yield floor
    finally:
        await floor.kill()
        for connection in floor.connections.values():
            await connection.gateway.close()
        await wire.close()
        await db.close()
