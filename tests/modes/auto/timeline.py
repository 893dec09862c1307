"""Auto runs on a clock that stands still, and the steps by which tests move them."""

from typing import Any

from msgspec import json

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import AutoSettings
from carrel.modes import AutoRun, AutoTicks, NewAutoRun, auto_runs_of_session, start_auto, stop_auto
from carrel.modes.auto.store import auto_run_by_id
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Claim, Run
from carrel.work import Task, readable_task
from tests.harness.engine import DONE, MAIN, Engine, FakeClock

CHAT = SessionKey.of("main", "web:conversation-1")
DAY_MS = 86_400_000
OTHER = SessionKey.of("main", "web:conversation-2")


class AutoTimeline:
    """An engine with a server that ticks auto runs."""

    def __init__(self, engine: Engine, **settings: Any) -> None:
        self.engine = engine
        self.duty = self.server("server-1", **settings)

    def server(self, worker: str, **settings: Any) -> AutoTicks:
        """Return the duty of a server."""
        started_at = self.engine.clock.now_ms()
        return AutoTicks(self.engine.db, self.engine.rules, AutoSettings(**settings), worker, started_at=started_at)

    async def start(self, key: SessionKey = MAIN, access: Access | None = None, **more: Any) -> AutoRun:
        """Start an auto run."""
        new, by = NewAutoRun(key=key, **more), access or self.engine.access
        return await self.engine.db.write(lambda tx: start_auto(tx, by, new, self.engine.rules))

    async def stop(self, key: SessionKey = MAIN, *, auto: AutoRun | None = None) -> list[str]:
        """Stop the auto runs of a session, or one."""
        named = {"key": key} if auto is None else {"auto_run_id": auto.id}
        return await self.engine.db.write(lambda tx: stop_auto(tx, self.engine.access, **named))

    async def now(self, auto: AutoRun) -> AutoRun:
        """Return an auto run as it is stored."""
        found = await self.engine.read(lambda tx: auto_run_by_id(tx, auto.access, auto.id))
        assert found is not None
        return found

    async def task(self, auto: AutoRun) -> Task:
        """Return the task of an auto run."""
        return (await self.engine.read(lambda tx: readable_task(tx, auto.access, auto.task_id)))[0]

    async def listed(self, key: SessionKey = MAIN, *, ended: bool = False) -> list[AutoRun]:
        """Return the auto runs of a session."""
        return await self.engine.read(lambda tx: auto_runs_of_session(tx, self.engine.access, key, ended=ended))

    async def later(self, seconds: float) -> None:
        """Move the clock, keep the server's leases, and do what is due."""
        clock = self.engine.clock
        assert isinstance(clock, FakeClock)
        while seconds > 0:
            step = min(seconds, 10)
            clock.advance(step)
            seconds -= step
            await self.engine.db.write(self.duty._renew)
        await self.settle()

    async def settle(self) -> float:
        """Do what is due now; return how long to wait afterwards."""
        while not (seconds := await self.duty.round()):
            pass
        return seconds

    async def ticks(self, auto: AutoRun | None = None, **more: Any) -> list[Run]:
        """Return the ticks of an auto run, or of all, oldest first."""
        wanted = RunFilter(provenance_kind="auto", auto_run_id=None if auto is None else auto.id, **more)
        access = self.engine.access if auto is None else auto.access
        found = await self.engine.read(lambda tx: runs_newest_first(tx, access, wanted, before=None, limit=500))
        return found[::-1]

    async def begin(self) -> Claim:
        """Claim the one tick that is due, and whatever else is, for as long as the test lasts."""
        (held,) = [one for one in await self.engine.take(10, lease_ms=DAY_MS) if one.auto_run_id is not None]
        return held

    async def work(self, outcome: Any = DONE) -> Claim:
        """End the one due tick, and let its auto run follow it."""
        held = await self.begin()
        await self.engine.end(held, outcome)
        await self.settle()
        return held

    async def told(self, name: str) -> list[dict[str, Any]]:
        """Return the bodies of the events of a name."""
        rows = await self.engine.read(
            lambda tx: tx.all("SELECT body FROM events WHERE name = :name ORDER BY seq", name=name)
        )
        return [json.decode(row[0]) for row in rows]

    async def notices(self, auto: AutoRun) -> list[str]:
        """Return what the session of an auto run was told about it."""
        rows = await self.engine.read(
            lambda tx: tx.all(
                "SELECT content FROM entries WHERE role = 'system' AND auto_run_id = :id AND session_id IS NOT NULL "
                "ORDER BY seq",
                id=auto.id,
            )
        )
        return [row[0] for row in rows]
