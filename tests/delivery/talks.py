"""Two lanes that talk: a requester whose turn has sent something, the other side, and whoever goes on with it.

The store is real and its clock stands still; turns are ended by the test, so that every order of things can be had.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from carrel.agents import agent_by_id
from carrel.exchanges import Exchange, Exchanges, exchange_after
from carrel.exchanges.store import EXCHANGES
from carrel.kernel import SessionKey
from carrel.kernel.settings import (
    SessionsAgentToAgentSettings,
    SessionsSettings,
    Settings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
)
from carrel.outbox import Channel
from carrel.runs import Claim, Completed, Outcome, Run, RunFilter, run_by_id, runs_newest_first
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Result, Surroundings, call_tool, finish_waiting, run_caller
from tests.engine import SECONDS_MAX, Engine, open_engine

ASKER = SessionKey.of("asker", "main")
TELLER = SessionKey.of("teller", "main")
OPEN = ToolsSettings(
    sessions=ToolsSessionsSettings(visibility="all"), agent_to_agent=ToolsAgentToAgentSettings(enabled=True)
)
CALL = "1:call"


def talking_settings(rounds: int = 5, expiry_minutes: float = 10) -> Settings:
    """Settings under which agents may talk to one another."""
    sessions = SessionsSettings(
        agent_to_agent=SessionsAgentToAgentSettings(max_ping_pong_turns=rounds),
        reply_back_expiry_minutes=expiry_minutes,
    )
    return Settings(tools=OPEN, sessions=sessions)


class Talk:
    """A requester at its caller, its run being worked on."""

    def __init__(self, engine: Engine, settings: Settings, asker: SessionKey) -> None:
        self.engine = engine
        self.asker = asker
        self.house = Surroundings(settings=settings, rules=engine.rules)
        self.channels: dict[str, Channel] = {}
        self.first = ""
        self.own: Claim | None = None
        self._caller: Caller | None = None
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Let somebody go on with exchanges."""
        self._serving = asyncio.create_task(
            Exchanges(self.engine.db, self.house.settings, self.house.rules, self.channels).serve()
        )

    async def stop(self) -> None:
        """Take him away, in the middle of whatever he does."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)

    async def sit_down(self) -> None:
        """Begin a turn of the requester."""
        await self.engine.say(self.asker, "ask the other")
        self.own = await self.engine.take_one()
        await self.engine.hear(self.own)
        self._caller = await self.engine.db.read(self._caller_of)

    def _caller_of(self, tx: Tx) -> Caller:
        assert self.own is not None
        run, agent = run_by_id(tx, self.engine.access, self.own.id), agent_by_id(tx, self.engine.access, "asker")
        lane = lane_of(tx, self.engine.access, self.asker)
        assert run is not None
        assert agent is not None
        assert lane is not None
        access = msgspec.structs.replace(run.access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
        return run_caller(self.house, access, agent, lane, run, None)

    def change_house(self, **changes: Any) -> None:
        """Let the requester sit in a house where something else holds."""
        self.house = msgspec.structs.replace(self.house, **changes)
        self._caller = msgspec.structs.replace(self.caller, house=self.house)

    @property
    def caller(self) -> Caller:
        """The requester's caller."""
        assert self._caller is not None
        return self._caller

    async def call(self, call_id: str = CALL, **arguments: Any) -> tuple[dict[str, Any], Result]:
        """Call sessions_send from the caller; an empty answer while the call waits."""
        written = json.dumps({"sessionKey": str(TELLER), "message": "how many?"} | arguments)
        text, result = await self.engine.db.write(
            lambda tx: call_tool(tx, CATALOG, self.caller, call_id, "sessions_send", written)
        )
        if result.wait is not None:
            self.first = result.wait.run_id
            return {}, result
        answer: dict[str, Any] = json.loads(text)
        self.first = answer.get("runId", "")
        return answer, result

    async def finish(self, call_id: str = CALL) -> dict[str, Any]:
        """What the waiting call gives back now."""
        text, _ = await self.engine.db.write(lambda tx: finish_waiting(tx, CATALOG, self.caller, call_id))
        answer: dict[str, Any] = json.loads(text)
        return answer

    async def end_turn(self) -> None:
        """End the requester's own turn."""
        assert self.own is not None
        await self.engine.end(self.own, Completed(reply="done"))

    async def hear(self, key: SessionKey, reply: str | Outcome) -> Run:
        """The next run of a lane, once it is there, ended with a reply; as it was heard."""
        run = await self.next_run(key)
        (held,) = [taken for taken in await self.engine.take(8) if taken.id == run.id]
        await self.engine.end(held, Completed(reply=reply) if isinstance(reply, str) else reply)
        return run

    async def next_run(self, key: SessionKey) -> Run:
        """The run that a lane has to work on next, once there is one."""
        found: list[Run] = []

        def is_there(tx: Tx) -> bool:
            wanted = RunFilter(key=str(key), state="queued")
            runs = runs_newest_first(tx, self.engine.access, wanted, before=None, limit=9)
            found[:] = runs[-1:]
            return bool(runs)

        await self.until(is_there)
        return found[0]

    async def until(self, holds: Callable[[Tx], bool]) -> None:
        """Wait, bounded, until what is stored satisfies a condition."""
        bell = self.engine.db.bell(EXCHANGES)
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                version = bell.version
                if await self.engine.db.read(holds):
                    return
                await bell.wait(version, 1.0)

    async def exchange(self) -> Exchange:
        """What follows after the first run, as it is stored now."""
        found = await self.engine.db.read(lambda tx: exchange_after(tx, self.engine.access, self.first))
        assert found is not None
        return found

    async def reaches(self, holds: Callable[[Exchange], bool]) -> Exchange:
        """The exchange once it is so."""

        def is_so(tx: Tx) -> bool:
            found = exchange_after(tx, self.engine.access, self.first)
            return found is not None and holds(found)

        await self.until(is_so)
        return await self.exchange()

    async def ended(self) -> Exchange:
        """The exchange once it has ended."""
        return await self.reaches(lambda exchange: exchange.state != "open")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.engine.advance(seconds)
        self.engine.db.bell(EXCHANGES).ring()

    async def runs(self, key: SessionKey) -> list[Run]:
        """Every run of a lane, oldest first."""
        wanted = RunFilter(key=str(key))
        found = await self.engine.db.read(
            lambda tx: runs_newest_first(tx, self.engine.access, wanted, before=None, limit=100)
        )
        return found[::-1]

    async def said(self, key: SessionKey) -> list[tuple[str, str]]:
        """(by whose doing, what) of every run of a lane but the one that began it all."""
        return [
            (run.provenance_kind, run.text) for run in await self.runs(key) if run.provenance_kind != "external_user"
        ]


@asynccontextmanager
async def open_talk(
    url: str, *, settings: Settings | None = None, asker: SessionKey = ASKER, working: bool = True
) -> AsyncIterator[Talk]:
    """A requester at its caller on the store at `url`, with another agent to talk to."""
    async with open_engine(url) as engine:
        await engine.make_agent("asker")
        await engine.make_agent("teller")
        talk = Talk(engine, settings or talking_settings(), asker)
        await talk.sit_down()
        if working:
            talk.start()
        try:
            yield talk
        finally:
            await talk.stop()
