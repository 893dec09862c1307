"""Ending turns: those that end while a commit is under way share the next one, and the claim of what follows."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from logging import getLogger
from typing import NamedTuple

from carrel.runs.model import Claim, ClaimLost, Failed, Outcome
from carrel.runs.settling import claim, settle
from carrel.storage import RUNS, Database, Tx

_log = getLogger("carrel.runs")


class _Ending(NamedTuple):
    """One turn's end on its way to the store; `written` brings the slot its next run."""

    run: Claim
    outcome: Outcome
    written: "asyncio.Future[Claim | None]"


class Endings:
    """Writes the outcomes of turns and hands each slot that they free its next run."""

    def __init__(self, db: Database, worker: str, lease_ms: int, draining: Callable[[], bool]) -> None:
        self._db = db
        self._draining = draining
        self._worker = worker
        self._lease_ms = lease_ms
        self._waiting: list[_Ending] = []
        self._any = asyncio.Event()

    async def end(self, run: Claim, outcome: Outcome) -> Claim | None:
        """Write how a turn went; the next run for its slot, if one is due."""
        written: asyncio.Future[Claim | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Ending(run, outcome, written))
        self._any.set()
        return await written

    async def serve(self) -> None:
        """Write whatever waits, together, until cancelled."""
        while True:
            await self._any.wait()
            self._any.clear()
            ended, self._waiting = self._waiting, []
            try:
                following = await self._db.write(partial(self._write, ended=ended))
            except Exception:  # boundary: what is not written runs out of its lease and is rescued
                _log.exception("settle_failed", extra={"runs": len(ended)})
                following = []
            if any(isinstance(ending.outcome, Failed) for ending in ended):
                # A retry may have been put off: whoever waits for the next due run must look again.
                self._db.bell(RUNS).ring()
            for ending, run in zip_longest(ended, following):
                if not ending.written.done():
                    ending.written.set_result(run)

    def _write(self, tx: Tx, ended: list[_Ending]) -> list[Claim]:
        # In the order of lanes: two that hold several wait for each other in one direction only.
        for ending in sorted(ended, key=lambda ending: (ending.run.account_id, ending.run.key)):
            # One whose claim is over has written nothing; the others' ends stand.
            with suppress(ClaimLost):
                settle(tx, ending.run, ending.outcome)
        return [] if self._draining() else claim(tx, self._worker, self._lease_ms, len(ended))
