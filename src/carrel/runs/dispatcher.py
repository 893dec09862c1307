"""The dispatcher: claims what is due, calls the handler it was given, writes the outcome and goes on.

One slot works on one run at a time and takes the next in the very transaction that ends the last, so a busy lane costs
one commit a run. It knows nothing of turns, models or surfaces.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from logging import getLogger

from carrel.kernel import MS_PER_SECOND, Refusal
from carrel.kernel.limits import LIFELINE_SECONDS, PRUNE_SECONDS, SAFETY_POLL_SECONDS
from carrel.kernel.settings import Settings
from carrel.runs import store
from carrel.runs.lifeline import rescue_lost
from carrel.runs.model import Cancelled, Claim, ClaimLost, Failed, Outcome
from carrel.runs.pruner import prune
from carrel.runs.settling import claim, settle, settle_and_claim
from carrel.storage import RUNS, STOPS, Database, Tx

Handler = Callable[[Claim], Awaitable[Outcome]]
_log = getLogger("carrel.runs")
_TIMED_OUT = Failed(code="timeout", message="The run took longer than its limit.", reason="timeout")


class Dispatcher:
    """Works off the lanes of one store in one process."""

    def __init__(self, db: Database, handler: Handler, settings: Settings, worker: str) -> None:
        self._db = db
        self._handler = handler
        self._settings = settings
        self._worker = worker
        self._lease_ms = settings.runs.lease_seconds * MS_PER_SECOND
        self._slots: dict[str, _Slot] = {}
        self._free = settings.runs.concurrency
        self._freed = asyncio.Event()
        self._draining = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._door_shut = asyncio.Event()
        self._door_shut.set()

    @property
    def draining(self) -> bool:
        """True once no new run is started."""
        return self._draining.is_set()

    async def serve(self) -> None:
        """Work until cancelled."""
        if self._db.engine == "sqlite":
            # One server owns the file: whatever runs in it was left by one that is gone.
            await self._db.write(store.expire_leases)
        while await self._db.write(rescue_lost):
            pass
        async with asyncio.TaskGroup() as group:
            group.create_task(self._claim(group))
            group.create_task(self._every(self._lease_ms / 3 / MS_PER_SECOND, self._renew))
            group.create_task(self._every(LIFELINE_SECONDS, rescue_lost))
            group.create_task(self._every(PRUNE_SECONDS, lambda tx: prune(tx, self._settings)))
            group.create_task(self._watch_stops())

    async def drain(self, seconds_max: float) -> None:
        """Start nothing more and wait for what runs, at the longest `seconds_max`; the rest is left to rescue."""
        self._draining.set()
        self._freed.set()
        self._db.bell(RUNS).ring()
        try:
            async with asyncio.timeout(seconds_max):
                # A claim that is under way may still bring work, so the door is shut before anybody counts.
                await self._door_shut.wait()
                await self._idle.wait()
        except TimeoutError:
            _log.warning("drain_timeout", extra={"running": len(self._slots)})

    async def _claim(self, group: asyncio.TaskGroup) -> None:
        self._door_shut.clear()
        try:
            await self._claim_until_draining(group)
        finally:
            self._door_shut.set()

    async def _claim_until_draining(self, group: asyncio.TaskGroup) -> None:
        bell = self._db.bell(RUNS)
        while not self.draining:
            version = bell.version
            limit = self._free
            if not limit:
                await self._freed.wait()
                self._freed.clear()
                continue
            try:
                claimed, due_at, now = await self._db.write(partial(self._take, limit=limit))
            except Refusal:
                # The store is away for a while; so are we, and try again.
                _log.exception("claim_failed")
                await bell.wait(version, SAFETY_POLL_SECONDS)
                continue
            for run in claimed:
                self._start(group, run)
            if not claimed:
                wait = SAFETY_POLL_SECONDS if due_at is None else (due_at - now) / MS_PER_SECOND
                await bell.wait(version, max(0.001, min(wait, SAFETY_POLL_SECONDS)))

    def _take(self, tx: Tx, limit: int) -> tuple[list[Claim], int | None, int]:
        claimed = [] if self.draining else claim(tx, self._worker, self._lease_ms, limit)
        return claimed, None if claimed else store.next_due(tx), tx.now

    def _start(self, group: asyncio.TaskGroup, run: Claim) -> None:
        self._free -= 1
        self._idle.clear()
        group.create_task(self._work(run), name=run.id)

    async def _work(self, run: Claim | None) -> None:
        """One slot: a run, then the next, until nothing is due."""
        try:
            while run is not None:
                outcome = await self._turn(run)
                run = await self._finish(run, outcome)
        finally:
            self._free += 1
            self._freed.set()
            if self._free == self._settings.runs.concurrency:
                self._idle.set()

    async def _turn(self, run: Claim) -> Outcome | None:
        slot = self._slots[run.id] = _Slot(run)
        try:
            return await slot.hold(self._handler(run))
        except ClaimLost:
            return None
        except Exception as error:  # boundary: one broken turn must not take the other lanes with it
            _log.exception("turn_failed", extra={"run_id": run.id, "error_code": "internal"})
            return Failed(code="internal", message=f"The turn broke off: {type(error).__name__}.")
        finally:
            del self._slots[run.id]

    async def _finish(self, run: Claim, outcome: Outcome | None) -> Claim | None:
        """Write the outcome and, in the same commit, take the next due run into the slot that it frees."""
        if outcome is None:
            return None

        def work(tx: Tx) -> Claim | None:
            if self.draining:
                settle(tx, run, outcome)
                return None
            return next(iter(settle_and_claim(tx, run, outcome, self._worker, self._lease_ms)), None)

        try:
            return await self._db.write(work)
        except ClaimLost:
            return None
        except Refusal:
            # The store is away; the run's lease runs out and the lifeline takes it from there.
            _log.exception("settle_failed", extra={"run_id": run.id})
            return None

    def _renew(self, tx: Tx) -> int:
        # Only what is worked on here and now: a run whose end could not be written must not be held for ever.
        held = [slot.run for slot in list(self._slots.values())]
        return store.renew_leases(tx, self._worker, held, tx.now + self._lease_ms)

    async def _every(self, seconds: float, duty: Callable[[Tx], int]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._db.write(duty)
            except Refusal:
                _log.exception("duty_failed", extra={"duty": getattr(duty, "__name__", "prune")})

    async def _watch_stops(self) -> None:
        bell = self._db.bell(STOPS)
        while True:
            version = bell.version
            try:
                for run_id, reason in await self._db.read(lambda tx: store.stopping_runs(tx, self._worker)):
                    if run_id in self._slots:
                        self._slots[run_id].stop(reason)
            except Refusal:
                _log.exception("stops_unread")
            await bell.wait(version, SAFETY_POLL_SECONDS)


class _Slot:
    """One turn under way, with the two ways to end it early: its time limit and a stop."""

    def __init__(self, run: Claim) -> None:
        self.run = run
        self._scope: asyncio.Timeout | None = None
        self._reason: str | None = None

    async def hold(self, turn: Awaitable[Outcome]) -> Outcome:
        try:
            async with asyncio.timeout(self._seconds_left()) as self._scope:
                return await turn
        except TimeoutError:
            if self._reason is not None:
                return Cancelled(reason=self._reason)
            if self._scope is not None and self._scope.expired():
                return _TIMED_OUT
            raise

    def stop(self, reason: str) -> None:
        """End the turn now: it is cancelled exactly as a time limit would cancel it."""
        if self._scope is not None and self._reason is None:
            self._reason = reason
            # A moment that has passed: the scope cancels the turn at once.
            self._scope.reschedule(0)

    def _seconds_left(self) -> float | None:
        if self.run.deadline_at is None:
            return None
        # Counted from the claim: updated_at is the moment of this very claim on the store's clock.
        return (self.run.deadline_at - self.run.updated_at) / MS_PER_SECOND
