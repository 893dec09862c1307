"""Watching single runs: one loop follows the feed for all callers that wait for a run, and wakes only those concerned.

If each of a thousand waiting callers looked at every commit, the server would do nothing else.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from logging import getLogger

from carrel.journal import any_event_after, newest_event, runs_told_of
from carrel.kernel import Access, Refusal, elapsed_seconds, not_found, system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PAGE_ROWS, UNSETTLED_POLL_SECONDS
from carrel.runs import store
from carrel.runs.model import Run
from carrel.storage import FEED, Bell, Database, Tx

# Ended, or waiting for an answer: the states that callers wait for.
SETTLED_STATES = ("completed", "failed", "cancelled", "waiting")
_log = getLogger("carrel.runs")


class Watch:
    """A bell for each watched run, rung when the feed has an event of that run."""

    def __init__(self, db: Database) -> None:
        self._db = db
        # Account -> run -> (bell, number of watchers).
        self._watched: dict[str, dict[str, tuple[Bell, int]]] = {}
        self._cursors: dict[str, int] = {}
        self._arrived = Bell()

    async def serve(self) -> None:
        """Follow the feed and ring the bells, until cancelled."""
        feed = self._db.bell(FEED)
        while True:
            arrived, version = self._arrived.version, feed.version
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
                await feed.wait(version, wait_seconds)

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

    async def until_settled(
        self, access: Access, run_id: str, seconds_max: float, closing: asyncio.Event | None = None
    ) -> Run:  # fmt: skip
        """Wait until a run has ended or waits for an answer, the time is up, or `closing` is set; return the run."""
        deadline = elapsed_seconds() + seconds_max
        with self.bell(access.account_id, run_id) as bell:
            while True:
                version = bell.version
                run = await self._db.read(lambda tx: store.run_by_id(tx, access, run_id))
                if run is None:
                    raise not_found("run")
                left = deadline - elapsed_seconds()
                if run.state in SETTLED_STATES or left <= 0 or (closing is not None and closing.is_set()):
                    return run
                await bell.wait(version, min(left, SAFETY_POLL_SECONDS))

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
        """Ring the bells of new events, of all watched runs at the first look; True if events are held back."""
        access = system_access(account_id)
        cursor = self._cursors.get(account_id)
        if cursor is None:
            newest = await self._db.read(lambda tx: newest_event(tx, access))
            if account_id in self._watched:
                self._cursors[account_id] = newest
                self._ring(account_id, list(self._watched[account_id]))
            return False
        while True:
            events, unsettled = await self._db.read(partial(_events_after, access=access, after=cursor))
            if not events or account_id not in self._cursors:
                return unsettled
            cursor = self._cursors[account_id] = events[-1][0]
            self._ring(account_id, [run_id for _, run_id in events if run_id is not None])

    def _ring(self, account_id: str, run_ids: list[str]) -> None:
        watched = self._watched.get(account_id, {})
        for run_id in dict.fromkeys(run_ids):
            if run_id in watched:
                watched[run_id][0].ring()


def _events_after(tx: Tx, access: Access, after: int) -> tuple[list[tuple[int, str | None]], bool]:
    events = runs_told_of(tx, access, after, limit=STREAM_PAGE_ROWS)
    return events, not events and any_event_after(tx, access, after)
