"""The dispatcher: claims what is due, calls the handler it was given, writes the outcome and goes on.

One slot works on one run at a time and takes the next in the very transaction that ends the last, so a busy lane costs
one commit a run. It knows nothing of turns, models or surfaces.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from logging import getLogger

from carrel.kernel import MS_PER_SECOND, Code, Refusal, elapsed_seconds, log_trouble
from carrel.kernel.limits import DEADLINE_SECONDS, LIFELINE_SECONDS, SAFETY_POLL_SECONDS
from carrel.kernel.settings import Settings
from carrel.runs import queue_store
from carrel.runs.leases import rescue_lost
from carrel.runs.model import RUNS, STOPS, Cancelled, Claim, ClaimLost, Failed, Outcome
from carrel.runs.outcome_writer import OutcomeWriter
from carrel.runs.outcomes import claim
from carrel.runs.slots import Slots
from carrel.storage import Database, Landing, Tx, repeat

Handler = Callable[[Claim], Awaitable[Outcome]]
_log = getLogger("carrel.runs")
_DRAIN_LOOK_SECONDS = 0.01
_OVERTAKEN = Cancelled(reason="interrupted")
_TIMED_OUT = Failed(code="timeout", message="The run took longer than its limit.", reason="timeout")


class Dispatcher:
    """Works off the lanes of one store in one process."""

    def __init__(self, db: Database, handler: Handler, settings: Settings, worker: str) -> None:
        self._db = db
        self._handler = handler
        self._settings = settings
        self._worker = worker
        self._lease_ms = settings.runs.lease_seconds * MS_PER_SECOND
        self._turns: dict[str, _Turn] = {}
        self._outcomes = OutcomeWriter(db, worker, self._lease_ms, lambda: self.draining)
        self._slots = Slots(settings.runs.concurrency)
        self._freed = asyncio.Event()
        self._draining = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    @property
    def draining(self) -> bool:
        """True once no new run is started."""
        return self._draining.is_set()

    async def serve(self) -> None:
        """Work until cancelled."""
        if self._db.engine == "sqlite":
            # One server owns the file: whatever runs in it was left by one that is gone.
            await self._db.write(queue_store.expire_leases)
        while await self._db.write(rescue_lost):
            pass
        self._db.join(RUNS, self._ride)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._claim())
            group.create_task(repeat(self._db, "renew", self._lease_ms / 3 / MS_PER_SECOND, self._renew))
            group.create_task(repeat(self._db, "rescue", LIFELINE_SECONDS, rescue_lost))
            group.create_task(self._watch_stops())
            group.create_task(self._watch_time())
            group.create_task(self._outcomes.serve())
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                # A group that ends takes no new turns; what was claimed for it meanwhile is left to rescue.
                self._group = None

    async def drain(self, seconds_max: float) -> None:
        """Start nothing more and wait for what runs, at the longest `seconds_max`; the rest is left to rescue."""
        self._draining.set()
        self._freed.set()
        self._db.bell(RUNS).ring()
        try:
            async with asyncio.timeout(seconds_max):
                # A claim that is under way has its slots reserved, so it is waited for like a turn. It may give them
                # back on the writer's thread, where no event of the loop can be set: hence a look now and then.
                while self._slots.taken:  # noqa: ASYNC110
                    await asyncio.sleep(_DRAIN_LOOK_SECONDS)
        except TimeoutError:
            _log.warning("drain_timeout", extra={"running": len(self._turns)})

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A turn that only waits for another run takes no place meanwhile, or all slots might wait for each other."""
        self._slots.lend()
        self._freed.set()
        try:
            yield
        finally:
            self._slots.take_back()

    def _ride(self, tx: Tx) -> Landing | None:
        """Claim in the very transaction that made runs due: what is said to an idle server starts with one commit."""
        due = tx.woken[RUNS]
        claimed, slots = self._take(tx, due)
        if slots == due:
            # As many were taken as became due here; whoever made others due has rung for them.
            del tx.woken[RUNS]
        return partial(self._landed, claimed) if claimed else None

    def _take(self, tx: Tx, limit: int) -> tuple[list[Claim], int]:
        """Claim into free slots, which stay reserved for what was claimed; and how many slots there were."""
        slots = 0 if self.draining or self._group is None else self._slots.reserve(limit)
        try:
            claimed = claim(tx, self._worker, self._lease_ms, slots) if slots else []
        except BaseException:
            self._slots.give_back(slots)
            raise
        self._slots.give_back(slots - len(claimed))
        return claimed, slots

    def _landed(self, claimed: list[Claim], committed: bool) -> None:
        if not committed or self._group is None:
            self._slots.give_back(len(claimed))
            return
        for run in claimed:
            self._group.create_task(self._work(run), name=run.id)

    async def _claim(self) -> None:
        """Claim what becomes due by time, or was made due elsewhere."""
        bell = self._db.bell(RUNS)
        while not self.draining:
            version = bell.version
            # Reserved outside the unit of work: that may be done again, and would reserve again.
            slots = self._slots.reserve(self._settings.runs.concurrency)
            if not slots:
                await self._slot_free()
                continue
            claimed: list[Claim] = []
            try:
                claimed, wait_seconds = await self._db.write(partial(self._look, slots=slots))
            except Exception as error:  # boundary: the store may be away for a while; so are we, and try again
                log_trouble(_log, "claim_failed", error)
                wait_seconds = SAFETY_POLL_SECONDS
            finally:
                self._slots.give_back(slots - len(claimed))
            self._landed(claimed, committed=True)
            if not claimed:
                await bell.wait(version, wait_seconds)

    async def _slot_free(self) -> None:
        """Wait for a turn to end; not for ever, since slots that were reserved in vain come back without a sound."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SAFETY_POLL_SECONDS):
                await self._freed.wait()
        self._freed.clear()

    def _look(self, tx: Tx, slots: int) -> tuple[list[Claim], float]:
        claimed = [] if self.draining else claim(tx, self._worker, self._lease_ms, slots)
        due_at = None if claimed else queue_store.next_due(tx)
        wait_seconds = SAFETY_POLL_SECONDS if due_at is None else (due_at - tx.now) / MS_PER_SECOND
        return claimed, max(0.001, min(wait_seconds, SAFETY_POLL_SECONDS))

    async def _work(self, run: Claim | None) -> None:
        """One slot: a run, then the next, until nothing is due."""
        try:
            while run is not None:
                outcome = await self._turn(run)
                # The slot's next run comes with the commit that ends the last; a claim that was lost ends nothing.
                run = None if outcome is None else await self._outcomes.end(run, outcome)
        finally:
            self._slots.give_back(1)
            self._freed.set()

    async def _turn(self, run: Claim) -> Outcome | None:
        earlier = self._turns.get(run.id)
        if earlier is not None:
            # Its lease ran out while it was worked on here. What that claim still brings is written nowhere.
            earlier.end(_OVERTAKEN)
        turn = self._turns[run.id] = _Turn(run)
        try:
            return await turn.hold(self._handler(run))
        except ClaimLost:
            return None
        except Refusal as refusal:
            # A store that was away is a bad way, not a bad turn: what was said is tried again.
            log_trouble(_log, "turn_failed", refusal, run_id=run.id)
            is_away = refusal.code is Code.STORAGE_UNAVAILABLE
            return Failed(code=str(refusal.code), message=refusal.message, retryable=is_away)
        except Exception as error:  # boundary: one broken turn must not take the other lanes with it
            _log.exception("turn_failed", extra={"run_id": run.id, "error_code": "internal"})
            return Failed(code="internal", message=f"The turn broke off: {type(error).__name__}.")
        finally:
            if self._turns.get(run.id) is turn:
                del self._turns[run.id]

    def _renew(self, tx: Tx) -> int:
        # Only what is worked on here and now: a run whose end could not be written must not be held for ever.
        held = [turn.run for turn in list(self._turns.values())]
        queue_store.renew_leases(tx, self._worker, held, tx.now + self._lease_ms)
        return 0

    async def _watch_time(self) -> None:
        # One look at all turns now and then: a timer each would cost more than most turns' own bookkeeping.
        while True:
            await asyncio.sleep(DEADLINE_SECONDS)
            for turn in list(self._turns.values()):
                if turn.ends_at is not None and turn.ends_at <= elapsed_seconds():
                    turn.end(_TIMED_OUT)

    async def _watch_stops(self) -> None:
        bell = self._db.bell(STOPS)
        while True:
            version = bell.version
            try:
                for run_id, reason in await self._db.read(lambda tx: queue_store.stopping_runs(tx, self._worker)):
                    if run_id in self._turns:
                        self._turns[run_id].end(Cancelled(reason=reason))
            except Exception as error:  # boundary: what could not be read now is read at the next look
                log_trouble(_log, "stops_unread", error)
            await bell.wait(version, SAFETY_POLL_SECONDS)


class _Turn:
    """One turn under way, and the way to end it early."""

    def __init__(self, run: Claim) -> None:
        self.run = run
        # Counted from the claim: updated_at is the moment of this very claim on the store's clock.
        limit_ms = None if run.deadline_at is None else run.deadline_at - run.updated_at
        self.ends_at = None if limit_ms is None else elapsed_seconds() + limit_ms / MS_PER_SECOND
        self._turn: asyncio.Task[object] | None = None
        self._ending: Outcome | None = None

    async def hold(self, turn: Awaitable[Outcome]) -> Outcome:
        """The turn's outcome, or the one it was ended with."""
        self._turn = asyncio.current_task()
        try:
            return await turn
        except asyncio.CancelledError:
            # Ours alone is answered; one from outside, the end of the server, goes on.
            if self._ending is None or self._turn is None or self._turn.uncancel() > 0:
                raise
            return self._ending

    def end(self, ending: Outcome) -> None:
        """End the turn now, with this outcome."""
        if self._turn is not None and self._ending is None:
            self._ending = ending
            self._turn.cancel()
