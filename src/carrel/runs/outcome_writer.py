"""Ending turns: those that end while a commit is under way share the next one, and the claim of what follows."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from logging import getLogger
from typing import NamedTuple

from carrel.kernel import Refusal
from carrel.kernel.limits import STORE_AWAY_SECONDS
from carrel.runs.model import RUNS, Claim, ClaimLost, Failed, Outcome
from carrel.runs.outcomes import hand_on, settle
from carrel.storage import Database, Tx

_log = getLogger("carrel.runs")
_UNWRITABLE = Failed(code="internal", message="What the turn brought could not be written down.")


class _Ending(NamedTuple):
    """One turn's end on its way to the store; `written` brings the slot its next run."""

    run: Claim
    outcome: Outcome
    written: "asyncio.Future[Claim | None]"


class OutcomeWriter:
    """Writes the outcomes of turns and hands each slot that they free its next run."""

    def __init__(self, db: Database, worker: str, lease_ms: int, draining: Callable[[], bool]) -> None:
        self._db = db
        self._draining = draining
        self._worker = worker
        self._lease_ms = lease_ms
        self._waiting: list[_Ending] = []
        self._any = asyncio.Event()
        self._writing = False

    async def end(self, run: Claim, outcome: Outcome) -> Claim | None:
        """Write how a turn went; the next run for its slot, if one is due."""
        ending = _Ending(run, outcome, asyncio.get_running_loop().create_future())
        self._waiting.append(ending)
        if self._writing:
            self._any.set()
        else:
            # Nobody is at it: written from here, a lone end needs no other task to wake. Those of the same moment join.
            self._writing = True
            await asyncio.sleep(0)
            await self._write_waiting()
        return await ending.written

    async def serve(self) -> None:
        """Write what came while others were being written, together, until cancelled."""
        while True:
            await self._any.wait()
            self._any.clear()
            if not self._writing:
                await self._write_waiting()

    async def _write_waiting(self) -> None:
        self._writing = True
        ended, self._waiting = self._waiting, []
        try:
            following = await self._written(ended)
            if any(isinstance(ending.outcome, Failed) for ending in ended):
                # A retry may have been put off: whoever waits for the next due run must look again.
                self._db.bell(RUNS).ring()
            for ending, run in zip_longest(ended, following):
                if not ending.written.done():
                    ending.written.set_result(run)
        except Refusal as refusal:
            # The store is away. What a turn brought is not thrown away: it is tried until its lease runs out.
            _log.warning("settle_failed", extra={"runs": len(ended), "error": refusal.message})
            self._waiting = ended + self._waiting
            await asyncio.sleep(STORE_AWAY_SECONDS)
        finally:
            self._writing = False
            if self._waiting:
                self._any.set()

    async def _written(self, ended: list[_Ending]) -> list[Claim]:
        try:
            return await self._db.write(partial(self._write, ended=ended))
        except Refusal:
            raise
        except Exception:  # boundary: what one turn brought and no store takes must not undo the others' ends
            _log.exception("settle_failed", extra={"runs": len(ended)})
        if len(ended) > 1:
            return [run for ending in ended for run in await self._written([ending])]
        (ending,) = ended
        if ending.outcome == _UNWRITABLE:
            return []
        return await self._written([ending._replace(outcome=_UNWRITABLE)])

    def _write(self, tx: Tx, ended: list[_Ending]) -> list[Claim]:
        # In the order of lanes: two that hold several wait for each other in one direction only.
        ends = [ending[:2] for ending in sorted(ended, key=lambda ending: (ending.run.account_id, ending.run.key))]
        if not self._draining():
            return hand_on(tx, ends, self._worker, self._lease_ms)
        for run, outcome in ends:
            # One whose claim is over has written nothing; the others' ends stand.
            with suppress(ClaimLost):
                settle(tx, run, outcome)
        return []
