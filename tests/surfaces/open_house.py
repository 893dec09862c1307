"""A whole house for a test: a real store, the dispatcher with real turns, and the API on a real port."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import httpx
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from carrel.access import access_by_token
from carrel.agents import open_account
from carrel.delivery import BUILTIN, Connection
from carrel.kernel import Access
from carrel.kernel.settings import GatewaySettings, SettingRow, Settings
from carrel.main.assembly import Assembly, open_store
from carrel.storage import Database
from carrel.surfaces import House
from carrel.wire import Wire
from tests.accounts import ensure_default_account
from tests.surfaces.scripted_agent import ScriptedAgent

ROWS = (SettingRow(name="server.port", value=8787, default=8787, source="default"),)
WAIT_SECONDS_MAX = 20.0


class OpenHouse(Struct, frozen=True, kw_only=True):
    """A running house: its address, the owner tokens of two accounts, and the model behind its agents."""

    house: House
    app: Starlette
    url: str
    owner: str
    other_owner: str
    agent: ScriptedAgent
    drain: asyncio.Event

    @property
    def db(self) -> Database:
        return self.house.db

    def client(self, token: str | None = "", **headers: str) -> httpx.AsyncClient:
        """A client with a token, the owner's unless another is given; None for one without."""
        bearer = {} if token is None else {"Authorization": f"Bearer {token or self.owner}"}
        return httpx.AsyncClient(base_url=self.url, headers={**bearer, **headers}, timeout=WAIT_SECONDS_MAX)

    async def access(self, token: str = "") -> Access:
        """The Access that a token stands for."""
        found = await self.db.read(lambda tx: access_by_token(tx, token or self.owner))
        assert found is not None
        return found

    async def token(self, client: httpx.AsyncClient, **wanted: Any) -> str:
        """The secret of a new token of the client's account."""
        answer = await client.post("/api/tokens", json={"name": "test", **wanted})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["secret"])


@contextlib.asynccontextmanager
async def open_house(
    url: str,
    *,
    settings: Settings | None = None,
    works: bool = True,
    gateways_up: dict[str, bool] | None = None,
    run_tokens: bool = False,
    more_routes: Iterable[BaseRoute] = (),
) -> AsyncIterator[OpenHouse]:
    """Open a house on the store at `url`; the first time two accounts are made in it, `default` and `other`."""
    settings = settings or Settings()
    db = open_store(url)
    agent, drain, wire = ScriptedAgent(), asyncio.Event(), Wire()
    try:
        owner = await db.write(ensure_default_account) or ""
        other = (await db.write(lambda tx: open_account(tx, "Other", "other")))[1] if owner else ""
        speaking = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9", run_tokens=run_tokens)
        # The gateway `spare` is there to be chosen; nothing is sent to it.
        connections = {BUILTIN: Connection(agent, speaking), "spare": Connection(agent, speaking)}
        assembly = Assembly(
            db, wire, connections, settings, worker="test-worker", works=works, draining=drain.is_set,
            gateways_up=_answering(gateways_up or {BUILTIN: True}), setting_rows=ROWS, more_routes=more_routes,
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            duties = [group.create_task(serve()) for serve in assembly.duties()]
            async with _served(assembly.app, group) as address:
                yield OpenHouse(
                    house=assembly.house, app=assembly.app, url=address, owner=owner, other_owner=other, agent=agent,
                    drain=drain,
                )  # fmt: skip
                assembly.house.closing.set()
            for duty in duties:
                duty.cancel()
    finally:
        await wire.close()
        await db.close()


def _answering(up: dict[str, bool]) -> Callable[[], Awaitable[dict[str, bool]]]:
    async def gateways_up() -> dict[str, bool]:
        return up

    return gateways_up


@contextlib.asynccontextmanager
async def _served(app: Starlette, group: asyncio.TaskGroup) -> AsyncIterator[str]:
    """Serve the application on a free port; the port listens before anybody is told of it."""
    # Named as TCP, or the loop does not know that small answers are to be sent at once.
    sock = socket.socket(proto=socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(256)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http="httptools",
        ws="websockets-sansio",
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)
    serving = group.create_task(server.serve(sockets=[sock]))
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await serving
