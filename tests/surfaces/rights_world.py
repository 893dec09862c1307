"""A server for walks through the table of rights, with a caller of every kind."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from carrel.access import NewToken, mint_token
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import Json, send_and_wait, start
from tests.surfaces.rights_table import HIDDEN, LOGIN, NEVER, Verdict

MAIN = "agent:main:main"
DAILY = {"type": "message", "message": "hi", "cron": "0 0 1 1 *", "sessionId": MAIN}
VERDICTS: dict[int, Verdict] = {401: LOGIN, 403: NEVER, 404: HIDDEN}


class World:
    """A server with an account that has something of everything, and a client for every kind of token."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.clients: dict[str, httpx.AsyncClient] = {}
        self.tokens: dict[str, str | None] = {}
        self.user = self.run = self.schedule = self.auto = self.task = self.file = ""
        self.notifications: dict[str, str] = {}
        self._numbers = itertools.count(1)

    @property
    def owner(self) -> httpx.AsyncClient:
        """The owner's client."""
        return self.clients["owner"]

    def name(self) -> str:
        """Return a name that was not used yet."""
        return f"name-{next(self._numbers)}"

    async def furnish(self, stack: AsyncExitStack) -> None:
        """Create the tokens, and what is only read."""

        async def enter(kind: str, token: str | None) -> None:
            self.tokens[kind] = token
            self.clients[kind] = await stack.enter_async_context(self.server.client(token))

        server = self.server
        await enter("owner", server.owner)
        await enter("another account's owner", server.other_owner)
        await enter("none", None)
        await enter("wrong", "crl_owner_no_such")
        self.user = (await self.make("/api/users", "user", name="Ada"))["id"]
        await enter("user", await server.token(self.owner, kind="user", userId=self.user))
        await enter("agent", await server.token(self.owner, kind="agent", agentId="main"))
        await enter("client", await server.token(self.owner, kind="client", agentIds=["main"]))
        await enter("expired", await self._mint(NewToken(kind="owner", name="old", expires_at=1)))
        await enter("revoked", await self._revoked())
        self.run = (await send_and_wait(self.owner, "fail here"))["id"]
        await send_and_wait(self.clients["user"], "fail here too")
        for kind in ("user", "owner"):
            listed = (await self.clients[kind].get("/api/notifications")).json()["notifications"]
            self.notifications[kind] = listed[0]["id"]
        self.schedule = (await self.make("/api/schedules", "schedule", **DAILY))["id"]
        self.auto = await self.auto_run(MAIN)
        self.task = await self.new_task()
        self.file = (await self.owner.post("/api/attachments", files={"file": b"x"})).json()["attachment"]["id"]
        used = {"content": "x", "attachmentIds": [self.file]}
        (await self.owner.post(f"/api/tasks/{self.task}/messages", json=used)).raise_for_status()
        await enter("run", await self.run_token(MAIN))

    async def make(self, path: str, what: str, **body: Any) -> Json:
        """Create something of the account."""
        answer = await self.owner.post(path, json=body)
        assert answer.status_code == 201, answer.text
        made: Json = answer.json()[what]
        return made

    async def auto_run(self, key: str) -> str:
        """Return the id of a new auto run of a session, which ticks once."""
        made = await self.make("/api/auto/start", "run", sessionId=key, intervalSeconds=604_800)
        return str(made["runId"])

    async def run_token(self, key: str) -> str:
        """Return the token of a new run that is under way in a lane."""
        gate = self.name()
        held = await start(self.owner, f"hold {gate}", sessionKey=key)
        await self.server.agent.reached(gate)
        return await self._mint(NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"]))

    async def lane(self) -> str:
        """Return the key of a new lane of a task."""
        return str((await send_and_wait(self.owner, "hello", taskId=await self.new_task()))["sessionKey"])

    async def asking(self) -> str:
        """Return the id of a new run that waits for an answer."""
        return str((await send_and_wait(self.owner, "ask what?", taskId=await self.new_task()))["id"])

    async def new_task(self, **wanted: Any) -> str:
        """Return the id of a new task."""
        return str((await self.make("/api/tasks", "task", title="Work", **wanted))["id"])

    async def _mint(self, new: NewToken) -> str:
        access = await self.server.access_of()
        return (await self.server.db.write(lambda tx: mint_token(tx, access, new)))[1]

    async def _revoked(self) -> str:
        made = (await self.owner.post("/api/tokens", json={"kind": "owner", "name": "x"})).json()
        (await self.owner.delete(f"/api/tokens/{made['token']['id']}")).raise_for_status()
        return str(made["secret"])


@asynccontextmanager
async def furnished(server: HttpServer) -> AsyncIterator[World]:
    """Give a server something of everything, and every kind of token."""
    async with AsyncExitStack() as stack:
        world = World(server)
        await world.furnish(stack)
        yield world
