"""Watching single runs: one loop follows the feed for all callers that wait for a run, and wakes the right ones.

If each of a thousand waiting callers looked at every commit, the server would do nothing else.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from logging import getLogger

from carrel.journal import newest_settled, runs_of_events
from carrel.kernel import Access, Refusal, elapsed_seconds, not_found, system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PAGE_ROWS, UNSETTLED_POLL_SECONDS
from carrel.runs import store
from carrel.runs.model import SETTLED, SETTLED_STATES, STEERED, Run
from carrel.storage import FEED, Bell, Database, Tx

_log = getLogger("carrel.runs")


class Watch:
    """Bells for the runs that callers watch: rung at every event of a run, or only once it has settled."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._events = _Bells(db, FEED, None)
        # Most callers wait only for the end, and need not look at earlier events.
        self._ends = _Bells(db, SETTLED, tuple(f"run.{state}" for state in SETTLED_STATES))

    async def serve(self) -> None:
        """Follow the feed and ring the bells, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._events.serve())
            group.create_task(self._ends.serve())

    def bell(self, account_id: str, run_id: str) -> AbstractContextManager[Bell]:
        """Return a bell that rings at every event of a run: take its version, read the run, then wait."""
        return self._events.bell(account_id, run_id)

    async def until_settled(
        self, access: Access, run_id: str, seconds_max: float, closing: asyncio.Event | None = None,
        look: Callable[[Tx, Access, str], Run | None] = store.run_by_id,
    ) -> Run:  # fmt: skip
        """Wait until a run has ended or waits for an answer, time is up, or `closing` is set; return the run.

        `look` reads it, and may refuse to. If the message joined another run, that run is awaited and returned.
        """
        deadline = elapsed_seconds() + seconds_max
        run = await self._until_settled(access, run_id, deadline, closing, look)
        if run.reason == STEERED and run.steers is not None:
            run = await self._until_settled(access, run.steers, deadline, closing, look)
        return run

    async def _until_settled(
        self, access: Access, run_id: str, deadline: float, closing: asyncio.Event | None,
        look: Callable[[Tx, Access, str], Run | None],
    ) -> Run:  # fmt: skip
        with self._ends.bell(access.account_id, run_id) as bell:
            while True:
                version = bell.version
                run = await self._db.read(lambda tx: look(tx, access, run_id))
                if run is None:
                    raise not_found("run")
                left = deadline - elapsed_seconds()
                if run.settled or left <= 0 or (closing is not None and closing.is_set()):
                    return run
                await bell.wait(version, min(left, SAFETY_POLL_SECONDS))


class _Bells:
    """A bell for each watched run, rung when the feed has an event of that run; with `names`, one of these names."""

    def __init__(self, db: Database, woken_by: str, names: tuple[str, ...] | None) -> None:
        self._db = db
        self._look_for = partial(runs_of_events, names=names, limit=STREAM_PAGE_ROWS)
        self._woken_by = db.bell(woken_by)
        # Account -> run -> (bell, number of watchers).
        self._watched: dict[str, dict[str, tuple[Bell, int]]] = {}
        self._cursors: dict[str, int] = {}
        self._arrived = Bell()

    async def serve(self) -> None:
        """Follow the feed and ring the bells, until cancelled."""
        while True:
            arrived, version = self._arrived.version, self._woken_by.version
            if not self._watched:
                await self._arrived.wait(arrived, SAFETY_POLL_SECONDS)
                continue
            wait_seconds: float = SAFETY_POLL_SECONDS
            try:
                if any([await self._look(account_id) for account_id in list(self._watched)]):
                    # An unsettled transaction may end without ringing the bell.
                    wait_seconds = UNSETTLED_POLL_SECONDS
            except Refusal as refusal:
                # The store is unavailable; watchers also poll on their own.
                _log.warning("watch_failed", extra={"error": refusal.message})
            if arrived == self._arrived.version:
                await self._woken_by.wait(version, wait_seconds)

    @contextmanager
    def bell(self, account_id: str, run_id: str) -> Iterator[Bell]:
        """A bell that rings at every event of a run: take its version, read the run, then wait."""
        runs = self._watched.setdefault(account_id, {})
        bell, count = runs.get(run_id) or (Bell(), 0)
        runs[run_id] = (bell, count + 1)
        if account_id not in self._cursors:
            self._arrived.ring()
        try:
            yield bell
        finally:
            self._leave(account_id, run_id)

    def _leave(self, account_id: str, run_id: str) -> None:
        runs = self._watched[account_id]
        bell, count = runs[run_id]
        if count > 1:
            runs[run_id] = (bell, count - 1)
            return
        del runs[run_id]
        if not runs:
            del self._watched[account_id]
            self._cursors.pop(account_id, None)

    async def _look(self, account_id: str) -> bool:
        """Ring the bells for new events, or of all watched runs at the first look; True if events are held back."""
        access = system_access(account_id)
        cursor = self._cursors.get(account_id)
        if cursor is None:
            newest = await self._db.read(lambda tx: newest_settled(tx, access))
            if account_id in self._watched:
                self._cursors[account_id] = newest
                self._ring(account_id, list(self._watched[account_id]))
            return False
        while True:
            page = await self._db.read(partial(self._look_for, access=access, after=cursor))
            if account_id not in self._cursors:
                return False
            cursor = self._cursors[account_id] = page.cursor
            self._ring(account_id, page.run_ids)
            if not page.has_more:
                return page.is_held_back

    def _ring(self, account_id: str, run_ids: list[str]) -> None:
        watched = self._watched.get(account_id, {})
        for run_id in dict.fromkeys(run_ids):
            if run_id in watched:
                watched[run_id][0].ring()
