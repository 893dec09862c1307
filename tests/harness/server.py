"""A server in this process, put together as `carrel serve` does it: real turns, and the surfaces over HTTP if wanted.

`Server` takes turns against the scripted gateway or the built-in agent. `HttpServer` listens on a port as well; its
agents are played by a ScriptedAgent, and it has a second account to look from.
"""

import asyncio
import contextlib
import random
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from msgspec import structs
from starlette.routing import BaseRoute

from carrel.access import access_by_token, owner_of_default
from carrel.agents import open_account
from carrel.delivery import BUILTIN, Connection, Receipt, Turns, receipt_of
from carrel.kernel import Access, SessionKey, SystemClock, system_access
from carrel.kernel.settings import (
    ClassifierSettings,
    DeliverySettings,
    GatewaySettings,
    RunsSettings,
    SettingRow,
    Settings,
    StorageSettings,
)
from carrel.main.assembly import Assembly, open_store, rules_of
from carrel.main.gateways import Gateways
from carrel.runs import Run
from carrel.runs.queue_store import expire_leases
from carrel.search import index_lag
from carrel.storage import Database
from carrel.surfaces import Reloaded, Services
from carrel.wire import Wire
from tests.harness.engine import SECONDS_MAX, Engine, ensure_default_account
from tests.harness.scripted_agent import ScriptedAgent
from tests.harness.watched_database import WatchedDatabase
from tests.scripted_gateway import MODEL, ScriptedGateway

API_KEY = "key-of-the-gateway-0123456789"
ROWS = (SettingRow(name="server.port", value=8787, default=8787, source="default"),)


class FixedConfiguration:
    """Settings that stay as they are."""

    def __init__(self, troubles: Callable[[], Awaitable[dict[str, str | None]]]) -> None:
        self.troubles = troubles

    def rows(self) -> Sequence[SettingRow]:
        return ROWS

    def file(self) -> str:
        return "/nowhere/carrel.toml"

    async def reload(self) -> Reloaded:
        return Reloaded(changed=[], need_restart=[])

    async def connect(self, _name: str, _fields: Mapping[str, str], _key: str) -> Reloaded:
        return Reloaded(changed=[], need_restart=[])


class NoDelay:
    """Randomness for tests: ids as usual, but every draw for a delay is the shortest."""

    def __init__(self) -> None:
        self._real = random.SystemRandom()

    def random(self) -> float:
        return 0.0

    def getrandbits(self, k: int, /) -> int:
        return self._real.getrandbits(k)


class Server(Engine):
    """An assembled server; `start` puts it to work, `kill` stops it as a crash would."""

    def __init__(
        self, db: Database, wire: Wire, connections: Mapping[str, Connection], settings: Settings, *,
        gateway_troubles: Callable[[], Awaitable[dict[str, str | None]]], works: bool = True,
        more_routes: Iterable[BaseRoute] = (),
    ) -> None:  # fmt: skip
        super().__init__(db, SystemClock(), system_access("nobody"), rules_of(settings))
        self.settings = settings
        self.drain = asyncio.Event()
        self.owner = ""
        self._parts = (wire, connections)
        self._options: dict[str, Any] = {
            "configuration": FixedConfiguration(gateway_troubles),
            "works": works,
            "more_routes": more_routes,
        }
        self._assembled = 0
        self._started = False
        self._working: asyncio.Task[None] | None = None
        self.assembly = self.assemble(db)

    @property
    def services(self) -> Services:
        """What the surfaces share."""
        return self.assembly.services

    @property
    def connections(self) -> Mapping[str, Connection]:
        """The connections to models, by the names of their gateways."""
        return self._parts[1]

    def assemble(self, db: Database) -> Assembly:
        """Put a server together on a store, with a worker name of its own."""
        self._assembled += 1
        wire, connections = self._parts
        return Assembly(
            db, wire, connections, self.settings,
            worker=f"worker-{self._assembled}", draining=self.drain.is_set, **self._options,
        )  # fmt: skip

    def turns_on(self, db: Database, **more: Any) -> Turns:
        """Return the turns of this server on a store that may behave differently; `more` are options of Turns."""
        _, connections = self._parts
        services, lend_slot = self.services, self.assembly.dispatcher.lend_slot
        return Turns(db, connections, services.tool_services, services.live, services.watch, lend_slot, **more)

    async def prepare(self) -> None:
        """Create the default account where there is none, and act as its owner."""
        owner = await self.db.write(ensure_default_account)
        self.owner = owner or ""
        self.access = await self.db.read(owner_of_default)

    def start(self) -> None:
        """Put the server to work; after a `kill` it starts as a new process would."""
        if self._started:
            self.assembly = self.assemble(self.db)
        self._started = True
        self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for serve in self.assembly.duties():
                group.create_task(serve())

    async def kill(self) -> None:
        """Stop the server in the middle of whatever it does; nothing more is written."""
        working, self._working = self._working, None
        if working is not None:
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working

    async def indexed(self, access: Access | None = None) -> None:
        """Wait until search has caught up with everything that was written in an account."""
        await self.until(lambda tx: not index_lag(tx, access or self.access).pending)

    async def let_leases_end(self) -> None:
        """Free what a killed worker held, as time would."""
        await self.db.write(expire_leases)

    async def send(self, text: str, rest: str = "main", *, agent: str = "main", **more: Any) -> Run:
        """Deliver a message to the lane of an agent; `more` are the options of `say`."""
        return await self.say(SessionKey.of(agent, rest), text, **more)

    async def ask(self, text: str, rest: str = "main", **more: Any) -> Run:
        """Deliver a message and return its run once it has ended or waits for an answer."""
        return await self.settled(await self.send(text, rest, **more))

    async def receipt(self, run: Run, *, with_body: bool = False) -> Receipt:
        """Return the receipt of a run as it is stored now."""
        stored = await self.run(run)
        return await self.read(lambda tx: receipt_of(tx, system_access(run.account_id), stored, with_body=with_body))


class HttpServer(Server):
    """A server that listens: its address, the owner tokens of two accounts, and the agent that answers."""

    url = ""
    other_owner = ""
    agent: ScriptedAgent

    async def prepare(self) -> None:
        """Create two accounts the first time, `default` and `other`."""
        await super().prepare()
        if self.owner:
            self.other_owner = (await self.db.write(lambda tx: open_account(tx, "Other", "other")))[1]

    def client(self, token: str | None = "", **headers: str) -> httpx.AsyncClient:
        """Return a client with a token, the owner's by default; None for a client without one."""
        bearer = {} if token is None else {"Authorization": f"Bearer {token or self.owner}"}
        return Client(self, base_url=self.url, headers={**bearer, **headers}, timeout=SECONDS_MAX)

    async def access_of(self, token: str = "") -> Access:
        """Return the access that a token gives, the owner's by default."""
        found = await self.read(lambda tx: access_by_token(tx, token or self.owner))
        assert found is not None
        return found

    async def token(self, client: httpx.AsyncClient, **wanted: Any) -> str:
        """Return the secret of a new token of the client's account."""
        answer = await client.post("/api/tokens", json={"name": "test", **wanted})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["secret"])

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Serve the application on a free port, which listens before anybody learns of it."""
        # Named as TCP, or the loop does not know that small answers are to be sent at once.
        sock = socket.socket(proto=socket.IPPROTO_TCP)
        sock.bind(("127.0.0.1", 0))
        sock.listen(256)
        self.url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        web = _Web(
            uvicorn.Config(
                self.assembly.app, log_config=None, access_log=False, lifespan="off", http="httptools",
                ws="websockets-sansio", proxy_headers=False,
            )
        )  # fmt: skip
        serving = asyncio.create_task(web.serve(sockets=[sock]))
        try:
            yield
        finally:
            self.services.closing.set()
            web.stopping.set()
            async with asyncio.timeout(SECONDS_MAX):
                await serving


class Client(httpx.AsyncClient):
    """A client that can make the tasks it talks about, whatever its token may do."""

    def __init__(self, server: HttpServer, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def make_task(self, task_id: str) -> None:
        """Make a task in the inbox of the client's account unless it exists."""
        token = self.headers["Authorization"].removeprefix("Bearer ")
        await self._server.make_task(task_id, await self._server.access_of(token))


class _Web(uvicorn.Server):
    """The web server of the product, which stops at once: its own way of stopping takes at least 0.2 s."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()

    async def main_loop(self) -> None:
        """Serve until told to stop."""
        await self.stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections; what is being answered has a moment to end."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            _, late = await asyncio.wait(self.server_state.tasks, timeout=SECONDS_MAX)
            for task in late:
                task.cancel()


def gateways_to(gateway: ScriptedGateway, **changes: Any) -> dict[str, GatewaySettings]:
    """Return the settings that make the scripted gateway the default one."""
    whole = {"kind": "responses", "base_url": gateway.base_url, "api_key": API_KEY, "model": MODEL} | changes
    return {"default": GatewaySettings(**whole)}


def tuned(*, runs: dict[str, Any] | None = None, **delivery: Any) -> Settings:
    """Return settings with some of those of the turn changed."""
    return Settings(delivery=DeliverySettings(**delivery), runs=RunsSettings(**(runs or {})))


def usual(settings: Settings | None) -> Settings:
    """Return the settings of a test's server, with what a test usually wants where it has chosen nothing else.

    Nothing is sorted on its own: what a server shows, and asks its model, changes only by what the test does. And no
    part of a context is left out because the machine is busy.
    """
    given = settings or Settings()
    if given.classifier == ClassifierSettings():
        given = structs.replace(given, classifier=ClassifierSettings(mode="off"))
    return structs.replace(
        given, context=structs.replace(given.context, fetch_timeout_ms=60_000, total_budget_ms=60_000)
    )


def _kept_here(settings: Settings | None) -> Settings:
    """Return the settings with the files of agents in a temporary folder, unless a test has chosen one."""
    given = usual(settings)
    if given.storage.data_dir != StorageSettings().data_dir:
        return given
    storage = structs.replace(given.storage, data_dir=Path(tempfile.gettempdir()) / "carrel-tests")
    return structs.replace(given, storage=storage)


@contextlib.asynccontextmanager
async def open_server(
    url: str,
    gateways: dict[str, GatewaySettings] | None = None,
    settings: Settings | None = None,
    *,
    working: bool = True,
) -> AsyncIterator[Server]:
    """Open a server on the store at `url`; the built-in agent answers where no gateway is given."""
    db = WatchedDatabase(open_store(url, durability="normal", chance=NoDelay()))
    try:
        async with Gateways(gateways or {}) as opened:
            server = Server(db, opened.wire, opened.connections, usual(settings), gateway_troubles=opened.troubles)
            await server.prepare()
            if working:
                server.start()
            try:
                yield server
            finally:
                await server.kill()
    finally:
        await db.close()


@contextlib.asynccontextmanager
async def open_http_server(
    url: str,
    *,
    settings: Settings | None = None,
    works: bool = True,
    gateway_troubles: dict[str, str | None] | None = None,
    run_tokens: bool = False,
    more_routes: Iterable[BaseRoute] = (),
    answering: Connection | None = None,
) -> AsyncIterator[HttpServer]:
    """Open a server on the store at `url` that listens on a port; with `works=False` it starts no runs.

    Its agents are answered by the scripted agent, or by what is `answering`.
    """
    db, wire, agent = WatchedDatabase(open_store(url, durability="normal")), Wire(), ScriptedAgent()
    speaking = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9", run_tokens=run_tokens)
    # The gateway `spare` is there to be chosen; nothing is sent to it.
    connections = {BUILTIN: answering or Connection(agent, speaking), "spare": Connection(agent, speaking)}

    async def up() -> dict[str, str | None]:
        return gateway_troubles or {BUILTIN: None}

    server = HttpServer(
        db, wire, connections, _kept_here(settings), gateway_troubles=up, works=works, more_routes=more_routes
    )
    server.agent = agent
    try:
        await server.prepare()
        server.start()
        async with server.listening():
            yield server
    finally:
        await server.kill()
        await wire.close()
        await db.close()
