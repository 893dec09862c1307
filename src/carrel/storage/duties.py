"""Duties: background work. One loop for all of it: wait for a bell, look, take, do, renew leases.

A duty says what is due and how it is done; the rest is here. Several servers may work on the same duty: an item is
leased in the store when it is taken, or locked again in the transaction that moves it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct

from carrel.kernel import MS_PER_SECOND, Refusal, elapsed_seconds, log_trouble
from carrel.kernel.limits import SAFETY_POLL_SECONDS, UNSETTLED_POLL_SECONDS
from carrel.storage.bells import Bell
from carrel.storage.database import Database, Tx
from carrel.storage.table import Table

Item = TypeVar("Item")
Waiting = TypeVar("Waiting", bound=Struct)
_log = getLogger("carrel.duties")


class DutyReport(Struct, kw_only=True):
    """What a duty has done since the server started; times in milliseconds."""

    name: str
    looked_at: int | None = None
    # When it last found something to do, and when the next known item becomes due.
    last_at: int | None = None
    next_at: int | None = None
    failures: int = 0
    last_error: str | None = None

    def failed(self, error: Exception) -> None:
        """Count a failure."""
        self.failures += 1
        self.last_error = str(error) or type(error).__name__


_reports: WeakKeyDictionary[Database, list[DutyReport]] = WeakKeyDictionary()


def duty_reports(db: Database) -> list[DutyReport]:
    """Return the reports of this process's duties on a store, by name."""
    return sorted(_reports.get(db, ()), key=lambda report: report.name)


def _reporting(db: Database, name: str) -> DutyReport:
    report = DutyReport(name=name)
    _reports.setdefault(db, []).append(report)
    return report


class Duty(Generic[Item]):
    """Work on items that are only read when they are taken; the next look comes when all of them are done.

    `do` locks its item and checks that it is still due, since another server may have been faster.
    """

    # What log lines call it.
    name: str
    # The bell that is rung when something may be due.
    bell: str
    # How many items are worked on at a time.
    items_max: int
    # The longest wait for the bell: a ring may be lost with a connection.
    wait_seconds_max: float = SAFETY_POLL_SECONDS
    # After a ring, wait for this many seconds of silence, so that changes in quick succession are handled together.
    gather_seconds: float = 0
    gather_seconds_max: float = 0

    def __init__(self, db: Database) -> None:
        self.db = db
        self.report = _reporting(db, self.name)

    def next_due(self, tx: Tx) -> int | None:
        """When something is next due in any account; None if nothing is scheduled."""
        raise AssertionError("each duty says when it is due")

    def take(self, tx: Tx, limit: int) -> list[Item]:
        """Up to `limit` items that are due now, in any account."""
        raise AssertionError("each duty says what is due")

    async def do(self, item: Item) -> None:
        """Work on one item."""
        raise AssertionError("each duty says how it is done")

    async def serve(self) -> None:
        """Do what is due, until cancelled."""
        bell = self.db.bell(self.bell)
        while True:
            version = bell.version
            wait_seconds = await self.round()
            if wait_seconds:
                await bell.wait(version, wait_seconds)

    async def round(self) -> float:
        """Do what is due now; return how long to wait then, 0 if there may be more."""
        taken, wait_seconds = await self._look(self.items_max)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._done(item)) for item in taken]
        # An item that failed would be found again at once, so there is a pause before the next look.
        return 0 if taken and all(task.result() for task in tasks) else wait_seconds

    async def _look(self, limit: int) -> tuple[list[Item], float]:
        """What to do now, and how long to wait before the next look."""
        try:
            wait_seconds = await self.db.read(self._seconds_until_due)
            if wait_seconds > 0:
                return [], wait_seconds
            taken, wait_seconds = await self._take(limit)
            if taken:
                self.report.last_at = self.report.looked_at
            return taken, wait_seconds
        except Exception as error:  # boundary: the store may be unavailable; the next look finds what is due
            self.report.failed(error)
            log_trouble(_log, f"{self.name}_unread", error)
            return [], SAFETY_POLL_SECONDS

    def _seconds_until_due(self, tx: Tx) -> float:
        due_at = self.next_due(tx)
        self.report.looked_at, self.report.next_at = tx.now, due_at
        left = self.wait_seconds_max if due_at is None else max(0, due_at - tx.now) / MS_PER_SECOND
        return min(left, self.wait_seconds_max)

    async def _take(self, limit: int) -> tuple[list[Item], float]:
        return await self.db.read(lambda tx: self.take(tx, limit)), SAFETY_POLL_SECONDS

    async def _done(self, item: Item) -> bool:
        try:
            await self.do(item)
        except Exception as error:  # boundary: a broken item must not affect others, and the next look finds it again
            self.report.failed(error)
            log_trouble(_log, f"{self.name}_broke_off", error)
            return False
        return True


class Due(Generic[Waiting]):
    """The rows of a table that are worked on once `due_at` has come, in all accounts; `only` narrows them.

    The bell is rung when one may be due. Taking them locks none.
    """

    def __init__(self, table: Table[Waiting], bell: str, only: str = "") -> None:
        own, same = f" AND {only}" if only else "", " AND ".join(f"{column} = :{column}" for column in table.key)
        self._next = f"SELECT due_at FROM {table.name} WHERE due_at IS NOT NULL{own} ORDER BY due_at LIMIT 1"
        self._taken = f"{table.select} WHERE due_at <= :now{own} ORDER BY due_at LIMIT :limit"
        self._postponed = f"UPDATE {table.name} SET due_at = :until WHERE {same} AND due_at <= :now{own}"
        self._table, self.bell = table, bell

    def next_due(self, tx: Tx) -> int | None:
        """When the next row is due."""
        return tx.value(self._next)

    def take(self, tx: Tx, limit: int) -> list[Waiting]:
        """Up to `limit` rows that are due now, longest due first."""
        return self._table.rows(tx.all(self._taken, now=tx.now, limit=limit))

    def postpone(self, tx: Tx, row: Waiting, until: int) -> None:
        """Make a row due later, unless a step that was committed after all has done so already."""
        key = {column: getattr(row, column) for column in self._table.key}
        tx.run(self._postponed, **key, now=tx.now, until=until)


class StepDuty(Duty[Waiting]):
    """Work in which every step is one transaction; `step` locks a row and does what is still due.

    A row whose step fails is postponed. It is called by the name of its bell, unless it has one of its own.
    """

    def __init__(
        self, db: Database, due: Due[Waiting], step: Callable[[Tx, Waiting], None], *, items_max: int,
        retry_seconds: int, wait_seconds_max: float = SAFETY_POLL_SECONDS, name: str = "",
    ) -> None:  # fmt: skip
        self.name, self.bell = name or due.bell, due.bell
        self.items_max, self.wait_seconds_max = items_max, wait_seconds_max
        super().__init__(db)
        self._due, self._step, self._retry_ms = due, step, retry_seconds * MS_PER_SECOND

    def next_due(self, tx: Tx) -> int | None:
        """When the next row is due."""
        return self._due.next_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Waiting]:
        """The rows that are due now."""
        return self._due.take(tx, limit)

    async def do(self, item: Waiting) -> None:
        """Take one step; if that fails, postpone it."""
        try:
            await self.db.write(lambda tx: self._step(tx, item))
        except Exception:
            with suppress(Refusal):
                await self.db.write(lambda tx: self._due.postpone(tx, item, tx.now + self._retry_ms))
            raise


class LeasedDuty(Duty[Item]):
    """Work on items that `take` leases in a write; it runs in the background while the loop goes on."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        # What this process is working on.
        self.busy: list[Item] = []

    def release(self, tx: Tx) -> object:
        """End the leases of a server that is gone; called when the only server of a store starts."""

    async def serve(self) -> None:
        """Do what is due, until cancelled."""
        if self.db.engine == "sqlite":
            await self.db.write(self.release)
        bell = self.db.bell(self.bell)
        async with asyncio.TaskGroup() as group:
            while True:
                version = bell.version
                limit = self.items_max - len(self.busy)
                taken, wait_seconds = await self._look(limit) if limit > 0 else ([], self.wait_seconds_max)
                for item in taken:
                    self.busy.append(item)
                    group.create_task(self._work(item))
                if not taken:
                    await bell.wait(version, wait_seconds)
                    await self._gather(bell)

    async def _gather(self, bell: Bell) -> None:
        ends_at, version = elapsed_seconds() + self.gather_seconds_max, -1
        while version != bell.version and (left := ends_at - elapsed_seconds()) > 0:
            version = bell.version
            await bell.wait(version, min(left, self.gather_seconds))

    async def _take(self, limit: int) -> tuple[list[Item], float]:
        # Another server is taking the same items right now, so look again soon.
        return await self.db.write(lambda tx: self.take(tx, limit)), UNSETTLED_POLL_SECONDS

    async def _work(self, item: Item) -> None:
        try:
            await self._done(item)
        finally:
            self.busy.remove(item)
            self.db.bell(self.bell).ring()


async def repeat(db: Database, name: str, seconds: float, work: Callable[[Tx], int]) -> None:
    """Do `work` at this interval, and again at once while it finds something; until cancelled."""
    while True:
        await asyncio.sleep(seconds)
        try:
            while await db.write(work):
                pass
        except Exception as error:  # boundary: work that fails is tried again later and affects no other work
            log_trouble(_log, "duty_failed", error, duty=name)
