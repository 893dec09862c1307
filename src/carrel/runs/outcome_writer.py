"""Writes outcomes: turns that end during a commit share the next commit, which also claims the next runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from logging import getLogger
from typing import NamedTuple

from carrel.kernel import Refusal
from carrel.kernel.limits import STORE_AWAY_SECONDS
from carrel.runs.concurrency import Limits
from carrel.runs.model import RUNS, Claim, ClaimLost, Failed
from carrel.runs.outcomes import Ending, settle, settle_and_claim
from carrel.storage import Database, Tx

_log = getLogger("carrel.runs")
_UNWRITABLE = Failed(code="internal", message="The outcome of the turn could not be stored.")


class _Pending(NamedTuple):
    """An outcome that is not written yet; `written` resolves to the slot's next run."""

    run: Claim
    outcome: Ending
    written: "asyncio.Future[Claim | None]"


class OutcomeWriter:
    """Writes the outcomes of turns and claims the next run for each slot they free."""

    def __init__(
        self, db: Database, worker: str, lease_ms: int, draining: Callable[[], bool], limits: Limits
    ) -> None:  # fmt: skip
        self._db = db
        self._draining = draining
        self._worker = worker
        self._lease_ms = lease_ms
        self._limits = limits
        self._waiting: list[_Pending] = []
        self._any = asyncio.Event()
        self._writing = False

    async def write(self, run: Claim, outcome: Ending) -> Claim | None:
        """Write the outcome of a turn; return the next run for its slot, if one is due."""
        pending = _Pending(run, outcome, asyncio.get_running_loop().create_future())
        self._waiting.append(pending)
        if self._writing:
            self._any.set()
        else:
            # No write is in progress: writing here saves waking another task. Outcomes that arrive meanwhile join.
            self._writing = True
            await asyncio.sleep(0)
            await self._write_waiting()
        return await pending.written

    async def serve(self) -> None:
        """Write the outcomes that arrived during a write, together, until cancelled."""
        while True:
            await self._any.wait()
            self._any.clear()
            if not self._writing:
                await self._write_waiting()

    async def _write_waiting(self) -> None:
        self._writing = True
        batch, self._waiting = self._waiting, []
        try:
            claimed = await self._write_batch(batch)
            if any(isinstance(pending.outcome, Failed) for pending in batch):
                # A retry may be due later: the dispatcher must look for the next due run again.
                self._db.bell(RUNS).ring()
            for pending, run in zip_longest(batch, claimed):
                if not pending.written.done():
                    pending.written.set_result(run)
        except Refusal as refusal:
            # The store is unavailable. The outcomes are kept and retried until their leases expire.
            _log.warning("settle_failed", extra={"runs": len(batch), "error": refusal.message})
            self._waiting = batch + self._waiting
            await asyncio.sleep(STORE_AWAY_SECONDS)
        finally:
            self._writing = False
            if self._waiting:
                self._any.set()

    async def _write_batch(self, batch: list[_Pending]) -> list[Claim]:
        try:
            return await self._db.write(partial(self._settle, batch=batch))
        except Refusal:
            raise
        except Exception:  # boundary: an outcome that cannot be stored must not undo the others
            _log.exception("settle_failed", extra={"runs": len(batch)})
        if len(batch) > 1:
            return [run for pending in batch for run in await self._write_batch([pending])]
        (pending,) = batch
        if pending.outcome == _UNWRITABLE:
            return []
        return await self._write_batch([pending._replace(outcome=_UNWRITABLE)])

    def _settle(self, tx: Tx, batch: list[_Pending]) -> list[Claim]:
        # In the order of lanes, so that transactions that lock several lanes cannot deadlock.
        ends = [pending[:2] for pending in sorted(batch, key=lambda one: (one.run.account_id, one.run.key))]
        if not self._draining():
            return settle_and_claim(tx, ends, self._worker, self._lease_ms, self._limits())
        for run, outcome in ends:
            # A lost claim writes nothing; the other outcomes stand.
            with suppress(ClaimLost):
                settle(tx, run, outcome)
        return []
