"""A whole house for a test: a real store, the dispatcher with real turns, and the API on a real port."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from carrel.access import access_by_token
from carrel.delivery import BUILTIN, Door, Exchanges, Live, Sweeping, Turns
from carrel.kernel import Access, SystemClock
from carrel.kernel.settings import GatewaySettings, SettingRow, Settings
from carrel.modes import Schedules
from carrel.runs import Dispatcher, Rules, Watch
from carrel.sessions import open_account
from carrel.storage import Database, open_database
from carrel.surfaces import WrongTokens
from carrel.surfaces.a2a import routes as a2a_routes
from carrel.surfaces.agent_http import routes as agent_routes
from carrel.surfaces.api import build_app
from carrel.surfaces.house import House
from carrel.surfaces.mcp import Endpoint as McpEndpoint
from carrel.surfaces.mcp import routes as mcp_routes
from carrel.surfaces.responses import routes as responses_routes
from carrel.surfaces.telegram import Telegram, side_rooms
from carrel.surfaces.telegram import routes as telegram_routes
from carrel.wire import Wire
from tests.accounts import ensure_default_account
from tests.surfaces.scripted_agent import ScriptedAgent

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
    db = open_database(url)
    agent, live, drain, wire = ScriptedAgent(), Live(), asyncio.Event(), Wire()
    try:
        owner = await db.write(ensure_default_account) or ""
        other = (await db.write(lambda tx: open_account(tx, "Other", "other")))[1] if owner else ""
        speaking = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9", run_tokens=run_tokens)
        scripted = Door(agent, speaking)
        house = _house(db, settings, live, works, drain, gateways_up or {BUILTIN: True}, agent, wire)
        doors = {BUILTIN: scripted}
        turns = Turns(db, doors, house.surroundings, live, house.watch, lambda: dispatcher.aside())
        dispatcher = Dispatcher(db, turns.take, settings, "test-worker")
        wrong = WrongTokens(SystemClock())
        mcp = McpEndpoint(house, wrong)
        tools_in = [*agent_routes(house, wrong), *mcp_routes(house, mcp)]
        telegram = Telegram(db, wire, settings.channels.telegram, house.rules)
        chats_in = telegram_routes(house, telegram.bot)
        doors_in = [*a2a_routes(house, wrong), *tools_in, *responses_routes(house, wrong), *chats_in]
        app = build_app(house, wrong=wrong, more_routes=[*doors_in, *more_routes])
        async with asyncio.TaskGroup() as group:
            duties = [group.create_task(house.watch.serve()), group.create_task(mcp.serve())]
            if works:
                duties.append(group.create_task(dispatcher.serve()))
                duties.append(group.create_task(Exchanges(db, house.surroundings, telegram.channels).serve()))
                duties.append(group.create_task(telegram.serve()))
                duties.append(group.create_task(Sweeping(db, settings).serve()))
                duties.append(group.create_task(Schedules(db, house.rules).serve()))
            async with _served(app, group) as address:
                yield OpenHouse(
                    house=house, app=app, url=address, owner=owner, other_owner=other, agent=agent, drain=drain
                )  # fmt: skip
                house.closing.set()
            for duty in duties:
                duty.cancel()
    finally:
        await wire.close()
        await db.close()


def _house(
    db: Database, settings: Settings, live: Live, works: bool, drain: asyncio.Event, up: dict[str, bool],
    agent: ScriptedAgent, wire: Wire,
) -> House:  # fmt: skip
    async def gateways_up() -> dict[str, bool]:
        return up

    return House(
        db=db,
        settings=settings,
        setting_rows=(SettingRow(name="server.port", value=8787, default=8787, source="default"),),
        rules=Rules(
            runs=settings.runs,
            send_policy=settings.sessions.send_policy,
            a2a_timeout_minutes=settings.a2a.tasks.timeout_minutes,
        ),
        live=live,
        watch=Watch(db),
        version="0.0.test",
        gateway_names=(BUILTIN, "spare"),
        gateways={BUILTIN: agent},
        side_rooms=side_rooms(wire, settings.channels.telegram),
        works=works,
        draining=drain.is_set,
        closing=asyncio.Event(),
        gateways_up=gateways_up,
    )


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
