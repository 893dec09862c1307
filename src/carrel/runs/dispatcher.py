"""The dispatcher: claims due runs, calls the handler for each turn, and has the outcome written.

A slot works on one run at a time and claims its next run in the transaction that ends the last one, so a busy lane
costs one commit per run. What happens in a turn is up to the handler.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from logging import getLogger

from carrel.kernel import MS_PER_SECOND, Code, Refusal, elapsed_seconds, log_trouble
from carrel.kernel.limits import DEADLINE_SECONDS, LIFELINE_SECONDS, SAFETY_POLL_SECONDS
from carrel.kernel.settings import Settings
from carrel.runs import held_store, queue_store, store
from carrel.runs.claims import claim, claim_or_wait
from carrel.runs.concurrency import UNLIMITED, Limits
from carrel.runs.leases import rescue_lost
from carrel.runs.model import RUNS, STOPS, Cancelled, Claim, ClaimLost, Failed, Outcome
from carrel.runs.outcome_writer import OutcomeWriter
from carrel.runs.outcomes import Ending, settle
from carrel.runs.slots import Slots
from carrel.storage import CommitCallback, Database, Tx, repeat

Handler = Callable[[Claim], Awaitable[Ending]]
_log = getLogger("carrel.runs")
_DRAIN_POLL_SECONDS = 0.01
_RECLAIMED = Cancelled(reason="interrupted")
_TIMED_OUT = Failed(code="timeout", message="The run took longer than its limit.", reason="timeout")


class Dispatcher:
    """Runs the turns of one process."""

    def __init__(
        self, db: Database, handler: Handler, settings: Settings, worker: str, limits: Limits = lambda: UNLIMITED
    ) -> None:  # fmt: skip
        self._db = db
        self._handler = handler
        self._settings = settings
        self._worker = worker
        self._lease_ms = settings.runs.lease_seconds * MS_PER_SECOND
        self._turns: dict[str, _Turn] = {}
        self._limits = limits
        self._outcomes = OutcomeWriter(db, worker, self._lease_ms, lambda: self.draining, limits)
        self._slots = Slots(settings.runs.concurrency)
        self._freed = asyncio.Event()
        self._draining = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    @property
    def draining(self) -> bool:
        """True once no new runs are started."""
        return self._draining.is_set()

    async def serve(self) -> None:
        """Claim and run turns until cancelled."""
        if self._db.engine == "sqlite":
            # One server owns the file, so whatever is still running in it was left by a server that has ended.
            await self._db.write(queue_store.expire_leases)
        # The settings may have changed since these runs were held.
        await self._db.write(held_store.release_every_held)
        while await self._db.write(rescue_lost):
            pass
        self._db.before_commit(RUNS, self._claim_in_same_commit)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._claim_due())
            group.create_task(repeat(self._db, "renew", self._lease_ms / 3 / MS_PER_SECOND, self._renew))
            group.create_task(repeat(self._db, "rescue", LIFELINE_SECONDS, rescue_lost))
            group.create_task(self._watch_stops())
            group.create_task(self._watch_deadlines())
            group.create_task(self._outcomes.serve())
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                # A task group that is ending accepts no new turns; runs claimed for it meanwhile are left to rescue.
                self._group = None

    async def work_off(self) -> int:
        """Take the turns that are due now, one after another, without serving; return how many."""
        count = 0
        while claimed := await self._db.write(lambda tx: claim(tx, self._worker, self._lease_ms, 1, self._limits())):
            (run,) = claimed
            outcome = await self._run_turn(run)
            if outcome is not None:
                await self._db.write(partial(settle, run=run, outcome=outcome))
            count += 1
        return count

    async def drain(self, seconds_max: float) -> None:
        """Start no new turns and wait up to `seconds_max` for running ones; the rest is left to rescue."""
        self._draining.set()
        self._freed.set()
        self._db.bell(RUNS).ring()
        try:
            async with asyncio.timeout(seconds_max):
                # A claim in progress has slots reserved, so we wait for it as for a turn. It may return them on the
                # writer's thread, which cannot set an event of this loop, so we poll.
                while self._slots.taken:  # noqa: ASYNC110
                    await asyncio.sleep(_DRAIN_POLL_SECONDS)
        except TimeoutError:
            _log.warning("drain_timeout", extra={"running": len(self._turns)})

    @contextmanager
    def lend_slot(self) -> Iterator[None]:
        """Lend a turn's slot while it only waits for another run; otherwise all turns could wait for each other."""
        self._slots.lend()
        self._freed.set()
        try:
            yield
        finally:
            self._slots.take_back()

    def _claim_in_same_commit(self, tx: Tx) -> CommitCallback | None:
        """Claim in the transaction that made runs due, so that a message to an idle server starts with one commit."""
        due = tx.woken[RUNS]
        claimed, slots = self._reserve_and_claim(tx, due)
        if slots == due:
            # As many were claimed as became due here; the transactions of other due runs ring the bell themselves.
            del tx.woken[RUNS]
        return partial(self._start_turns, claimed) if claimed else None

    def _reserve_and_claim(self, tx: Tx, limit: int) -> tuple[list[Claim], int]:
        """Claim runs for free slots, which stay reserved for them; also return how many slots were free."""
        slots = 0 if self.draining or self._group is None else self._slots.reserve(limit)
        try:
            claimed = claim(tx, self._worker, self._lease_ms, slots, self._limits()) if slots else []
        except BaseException:
            self._slots.release(slots)
            raise
        self._slots.release(slots - len(claimed))
        return claimed, slots

    def _start_turns(self, claimed: list[Claim], committed: bool) -> None:
        if not committed or self._group is None:
            self._slots.release(len(claimed))
            return
        for run in claimed:
            self._group.create_task(self._work(run), name=run.id)

    async def _claim_due(self) -> None:
        """Claim runs that become due by time, or were made due by another server."""
        bell = self._db.bell(RUNS)
        while not self.draining:
            version = bell.version
            # Reserved outside the unit of work, which may be repeated and would reserve twice.
            slots = self._slots.reserve(self._settings.runs.concurrency)
            if not slots:
                await self._wait_for_slot()
                continue
            claimed: list[Claim] = []
            try:
                claimed, wait_seconds = await self._db.write(partial(self._claim_or_wait, slots=slots))
            except Exception as error:  # boundary: the store may be unavailable; try again later
                log_trouble(_log, "claim_failed", error)
                wait_seconds = SAFETY_POLL_SECONDS
            finally:
                self._slots.release(slots - len(claimed))
            self._start_turns(claimed, committed=True)
            if not claimed:
                await bell.wait(version, wait_seconds)

    async def _wait_for_slot(self) -> None:
        """Wait for a turn to end, for a bounded time: slots reserved in vain are released without setting the event."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SAFETY_POLL_SECONDS):
                await self._freed.wait()
        self._freed.clear()

    def _claim_or_wait(self, tx: Tx, slots: int) -> tuple[list[Claim], float]:
        """Claim runs, or return how many seconds to wait for the next one to become due."""
        if self.draining:
            return [], SAFETY_POLL_SECONDS
        claimed, due_at = claim_or_wait(tx, self._worker, self._lease_ms, slots, self._limits())
        wait_seconds = SAFETY_POLL_SECONDS if due_at is None else (due_at - tx.now) / MS_PER_SECOND
        return claimed, max(0.001, min(wait_seconds, SAFETY_POLL_SECONDS))

    async def _work(self, run: Claim | None) -> None:
        """Work in one slot: one run after another, until none is due."""
        try:
            while run is not None:
                outcome = await self._run_turn(run)
                # The slot's next run is claimed in the commit that ends this one; a lost claim ends nothing.
                run = None if outcome is None else await self._outcomes.write(run, outcome)
        finally:
            self._slots.release(1)
            self._freed.set()

    async def _run_turn(self, run: Claim) -> Ending | None:
        earlier = self._turns.get(run.id)
        if earlier is not None:
            # Its lease ran out while its turn was running here. The earlier claim can write nothing more.
            earlier.end(_RECLAIMED)
        turn = self._turns[run.id] = _Turn(run)
        try:
            return await turn.result(self._outcome(run))
        except ClaimLost:
            return None
        except Refusal as refusal:
            # An unavailable store is not the fault of the turn, so the run is tried again.
            log_trouble(_log, "turn_failed", refusal, run_id=run.id)
            retryable = refusal.code is Code.STORAGE_UNAVAILABLE
            return Failed(code=str(refusal.code), message=refusal.message, retryable=retryable)
        except Exception as error:  # boundary: one broken turn must not stop the others
            _log.exception("turn_failed", extra={"run_id": run.id, "error_code": "internal"})
            return Failed(code="internal", message=f"The turn failed with an internal error: {type(error).__name__}.")
        finally:
            if self._turns.get(run.id) is turn:
                del self._turns[run.id]

    async def _outcome(self, run: Claim) -> Ending:
        """The handler's outcome; a stop request may end the claim before the watch ends the turn."""
        try:
            return await self._handler(run)
        except ClaimLost:
            stop = await self._db.read(lambda tx: store.claimed_stop(tx, run))
            if stop is None or stop[0] is None:
                raise
            return Cancelled(reason=stop[0])

    def _renew(self, tx: Tx) -> int:
        # Only running turns: a run whose outcome could not be written must not be held forever.
        running = [turn.run for turn in list(self._turns.values())]
        queue_store.renew_leases(tx, self._worker, running, tx.now + self._lease_ms)
        return 0

    async def _watch_deadlines(self) -> None:
        # One loop for all turns: a timer for each would cost more than the rest of a turn's bookkeeping.
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
            except Exception as error:  # boundary: what cannot be read now is read the next time
                log_trouble(_log, "stops_unread", error)
            await bell.wait(version, SAFETY_POLL_SECONDS)


class _Turn:
    """A running turn, which can be ended early."""

    def __init__(self, run: Claim) -> None:
        self.run = run
        # Measured from the claim: updated_at is the time of this claim on the store's clock.
        limit_ms = None if run.deadline_at is None else run.deadline_at - run.updated_at
        self.ends_at = None if limit_ms is None else elapsed_seconds() + limit_ms / MS_PER_SECOND
        self._task: asyncio.Task[object] | None = None
        self._end_with: Outcome | None = None

    async def result(self, turn: Awaitable[Ending]) -> Ending:
        """Return the turn's outcome, or the one it was ended with."""
        self._task = asyncio.current_task()
        try:
            return await turn
        except asyncio.CancelledError:
            # Only our own cancellation is caught; one from outside, when the server ends, goes on.
            if self._end_with is None or self._task is None or self._task.uncancel() > 0:
                raise
            return self._end_with

    def end(self, outcome: Outcome) -> None:
        """End the turn now, with this outcome."""
        if self._task is not None and self._end_with is None:
            self._end_with = outcome
            self._task.cancel()
