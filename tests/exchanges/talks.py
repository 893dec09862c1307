"""Two lanes that talk: a requester in the middle of a turn, the agent it sends to, and the duty of exchanges.

It builds on the engine: the clock stands still and the test ends every turn, so that any order of things can be tried.
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
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.outbox.posts import Channel
from carrel.runs import Claim, Completed, Outcome, Run, run_by_id
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Result, ToolServices, call_tool, caller_at, finish_waiting
from tests.harness.engine import Engine, open_engine

ASKER = SessionKey.of("asker", "main")
TELLER = SessionKey.of("teller", "main")
OPEN = ToolsSettings(
    sessions=ToolsSessionsSettings(visibility="all"), agent_to_agent=ToolsAgentToAgentSettings(enabled=True)
)
CALL = "1:call"


def talking_settings(rounds: int = 5, expiry_minutes: float = 10) -> Settings:
    """Return settings under which agents may talk to one another."""
    sessions = SessionsSettings(
        agent_to_agent=SessionsAgentToAgentSettings(max_ping_pong_turns=rounds),
        reply_back_expiry_minutes=expiry_minutes,
    )
    return Settings(tools=OPEN, sessions=sessions)


class Talk:
    """A requester whose run is being worked on, and what comes of the message it sends."""

    def __init__(self, engine: Engine, settings: Settings, asker: SessionKey) -> None:
        self.engine = engine
        self.asker = asker
        self.services = ToolServices(settings=settings, rules=engine.rules)
        self.channels: dict[str, Channel] = {}
        self.first = ""
        self.own: Claim | None = None
        self._caller: Caller | None = None
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the duty that moves exchanges on."""
        self._serving = asyncio.create_task(
            Exchanges(self.engine.db, self.services.settings, self.services.rules, self.channels).serve()
        )

    async def stop(self) -> None:
        """Stop the duty in the middle of whatever it does."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)

    async def begin_turn(self) -> None:
        """Start a turn of the requester."""
        await self.engine.say(self.asker, "ask the other")
        self.own = await self.engine.take_one()
        await self.engine.start_turn(self.own)
        self._caller = await self.engine.read(self._caller_of)

    def _caller_of(self, tx: Tx) -> Caller:
        assert self.own is not None
        run, agent = run_by_id(tx, self.engine.access, self.own.id), agent_by_id(tx, self.engine.access, "asker")
        lane = lane_of(tx, self.engine.access, self.asker)
        assert run is not None
        assert agent is not None
        assert lane is not None
        access = msgspec.structs.replace(run.access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
        return caller_at(tx, self.services, access, agent, lane, run=run)

    def change_house(self, **changes: Any) -> None:
        """Change the services of the requester."""
        self.services = msgspec.structs.replace(self.services, **changes)
        self._caller = msgspec.structs.replace(self.caller, services=self.services)

    @property
    def caller(self) -> Caller:
        """The requester as tools see it."""
        assert self._caller is not None
        return self._caller

    async def call(self, call_id: str = CALL, **arguments: Any) -> tuple[dict[str, Any], Result]:
        """Call sessions_send as the requester; the answer is empty while the call waits."""
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
        """Return what the waiting call answers now."""
        text, _ = await self.engine.db.write(lambda tx: finish_waiting(tx, CATALOG, self.caller, call_id))
        answer: dict[str, Any] = json.loads(text)
        return answer

    async def end_turn(self) -> None:
        """End the requester's own turn."""
        assert self.own is not None
        await self.engine.end(self.own)

    async def run_next(self, key: SessionKey, reply: str | Outcome) -> Run:
        """Wait for the next run of a lane and end it with a reply; return the run as it was claimed."""
        run = await self.next_run(key)
        (held,) = [taken for taken in await self.engine.take(8) if taken.id == run.id]
        await self.engine.end(held, Completed(reply=reply) if isinstance(reply, str) else reply)
        return run

    async def next_run(self, key: SessionKey) -> Run:
        """Return the oldest queued run of a lane, once there is one."""
        wanted = RunFilter(key=str(key), state="queued")
        access = self.engine.access
        await self.until(lambda tx: bool(runs_newest_first(tx, access, wanted, before=None, limit=1)))
        return (await self.engine.runs(key, state="queued"))[0]

    async def until(self, holds: Callable[[Tx], bool]) -> None:
        """Wait, bounded, until what is stored satisfies a condition."""
        await self.engine.until(holds)

    async def exchange(self) -> Exchange:
        """Return what follows after the first run, as it is stored now."""
        found = await self.engine.read(lambda tx: exchange_after(tx, self.engine.access, self.first))
        assert found is not None
        return found

    async def reaches(self, holds: Callable[[Exchange], bool]) -> Exchange:
        """Return the exchange once it satisfies a condition."""

        def is_so(tx: Tx) -> bool:
            found = exchange_after(tx, self.engine.access, self.first)
            return found is not None and holds(found)

        await self.until(is_so)
        return await self.exchange()

    async def ended(self) -> Exchange:
        """Return the exchange once it has ended."""
        return await self.reaches(lambda exchange: exchange.state != "open")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.engine.advance(seconds)
        self.engine.db.bell(EXCHANGES).ring()

    async def sent_to(self, key: SessionKey) -> list[tuple[str, str]]:
        """Return (kind of provenance, text) of every run of a lane except those that people started."""
        runs = await self.engine.runs(key)
        return [(run.provenance_kind, run.text) for run in runs if run.provenance_kind != "external_user"]


@asynccontextmanager
async def open_talk(
    url: str, *, settings: Settings | None = None, asker: SessionKey = ASKER, working: bool = True
) -> AsyncIterator[Talk]:
    """A requester in the middle of a turn on the store at `url`, with another agent to send to."""
    async with open_engine(url) as engine:
        await engine.make_agent("asker")
        await engine.make_agent("teller")
        talk = Talk(engine, settings or talking_settings(), asker)
        await talk.begin_turn()
        if working:
            talk.start()
        try:
            yield talk
        finally:
            await talk.stop()
