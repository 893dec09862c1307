"""SQLite: one file in WAL mode, one writer thread that commits in groups, one reader on the loop.

Whatever arrives while a commit is being synced shares the next one, so full durability costs one fsync per group
instead of one per change. What the loop writes at nearly the same time is handed over together: commits and switches
between the threads are most of what a busy server pays for its writes.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from logging import getLogger
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

import apsw

from carrel.kernel import Chance, Clock, Code, Ids, Refusal
from carrel.kernel.limits import LONG_READERS_SQLITE, PATIENT_READERS_SQLITE
from carrel.storage.database import CommitCallback, CommonDatabase, CommonTx, InAccount, LongTx, Observers, Row, Tx
from carrel.storage.dialect import for_sqlite
from carrel.storage.long_reads import Deadline
from carrel.storage.sqlite_file import copy_file, migrate_file, open_file

T = TypeVar("T")
SomeTx = TypeVar("SomeTx", bound="SqliteTx")
_log = getLogger("carrel.storage")
_GROUP_MAX = 256
# How many rounds of the loop a change waits for others while the server is busy: far less than a commit takes.
_HANDOVER_ROUNDS = 12
_STEPS_BETWEEN_CHECKS = 10_000
_NO_HORIZON = 1 << 62


class SqliteTx(CommonTx):
    """A transaction on one connection; reused for every unit of work on it."""

    def __init__(
        self, connection: apsw.Connection, clock: Clock, ids: Ids, chance: Chance, observers: Observers
    ) -> None:
        super().__init__(ids, chance, observers)
        self._connection = connection
        # One cursor for all statements, each read to its end: a new cursor costs as much as a short statement.
        self._cursor = connection.cursor()
        self._clock = clock
        self.now = 0
        self.ticks = 0
        self._deferred: dict[str, list[Sequence[object]]] = {}

    def begin(self) -> None:
        """Begin a new unit of work at the present time."""
        self._deferred.clear()
        self._cache.clear()
        self.now = self._clock.now_ms()

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        return self._rows(sql, access, values)

    def one(self, sql: str, access: InAccount | None = None, /, **values: object) -> Row | None:
        # Read to the end: a half-read statement keeps its effects and its locks.
        rows = self._rows(sql, access, values)
        return rows[0] if rows else None

    def _rows(self, sql: str, access: InAccount | None, values: dict[str, object]) -> list[Row]:
        if access is not None:
            values["account"] = access.account_id
        text, ordered = for_sqlite(sql)
        return self._cursor.execute(text, ordered(values)).fetchall()

    def run(self, sql: str, access: InAccount | None = None, /, **values: object) -> int:
        if access is not None:
            values["account"] = access.account_id
        text, ordered = for_sqlite(sql)
        self._cursor.execute(text, ordered(values))
        return self._connection.changes()

    def pipeline(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        self.run(sql, access, **values)

    def run_many(self, sql: str, rows: list[dict[str, object]]) -> None:
        text, ordered = for_sqlite(sql)
        self._cursor.executemany(text, map(ordered, rows))

    def defer(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        if access is not None:
            values["account"] = access.account_id
        text, ordered = for_sqlite(sql)
        self._deferred.setdefault(text, []).append(ordered(values))

    def prefetch(self, *reads: Callable[[], object]) -> None:
        """Do nothing: prefetching saves no time here."""

    def finish(self) -> None:
        """Execute what was deferred."""
        for text, rows in self._deferred.items():
            self._cursor.executemany(text, rows)
        self._deferred.clear()

    def attempt(self, work: Callable[[], T]) -> T:
        woken, deferred = self.woken.copy(), {text: list(rows) for text, rows in self._deferred.items()}
        self._cursor.execute("SAVEPOINT part")
        try:
            return work()
        except BaseException:
            # SQLite may have ended the transaction itself.
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK TO part")
            self.woken, self._deferred = woken, deferred
            self.invalidate()
            raise
        finally:
            if self._connection.in_transaction:
                self._cursor.execute("RELEASE part")

    def tick(self) -> int:
        self.ticks += 1
        return self.ticks

    def horizon(self) -> int:
        # One writer numbers and commits, so nothing can appear below what is visible.
        return _NO_HORIZON


class ShortSqliteTx(SqliteTx):
    """A transaction of a short read. It begins with the second statement: most reads have one, which needs none."""

    def begin(self) -> None:
        super().begin()
        self._statements = 0

    def _rows(self, sql: str, access: InAccount | None, values: dict[str, object]) -> list[Row]:
        self._statements += 1
        if self._statements == 2:
            self._cursor.execute("BEGIN")
        return super()._rows(sql, access, values)


class LongSqliteTx(SqliteTx):
    """A transaction of a long read."""

    deadline: Deadline

    def begin(self) -> None:
        super().begin()
        self._cursor.execute("BEGIN")

    @property
    def seconds_left(self) -> float:
        return self.deadline.seconds_left


class _Work:
    """A unit of work on its way through the writer."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(self, work: Callable[[Tx], object], future: "asyncio.Future[object] | None" = None) -> None:
        self.work = work
        self.future = future
        self.result: object = None
        self.error: BaseException | None = None


class SqliteDatabase(CommonDatabase[apsw.Connection]):
    """The embedded store."""

    engine = "sqlite"

    def __init__(self, path: Path, *, durability: str, clock: Clock, ids: Ids, chance: Chance) -> None:
        super().__init__(
            lambda: open_file(path, durability), urgent_readers=LONG_READERS_SQLITE,
            patient_readers=PATIENT_READERS_SQLITE,
        )  # fmt: skip
        self.path = path
        self._writing = open_file(path, durability)
        migrate_file(self._writing)
        self._write_tx = SqliteTx(self._writing, clock, ids, chance, self._observers)
        self._write_tx.ticks = next(iter(self._writing.execute("SELECT value FROM ticks")))[0]
        self._writing.create_scalar_function("tick", lambda *_: self._write_tx.tick(), 0)
        self._reading = open_file(path, durability)
        self._read_tx = ShortSqliteTx(self._reading, clock, ids, chance, self._observers)
        self._sources = (clock, ids, chance)
        self._callbacks: list[CommitCallback] = []
        self._collected: list[_Work] = []
        # Whether changes were committed together last, so that others are likely to follow soon.
        self._is_busy = False
        self._queue: SimpleQueue[list[_Work] | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write_groups, name="carrel-writer", daemon=True)
        self._writer.start()

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Commit `work` together with whatever else is waiting."""
        self._require_open()
        future: asyncio.Future[object] = self._loop.create_future()
        self._collected.append(_Work(work, future))
        if len(self._collected) == 1:
            self._loop.call_soon(self._hand_over, _HANDOVER_ROUNDS if self._is_busy else 0)
        return await future  # type: ignore[return-value]

    def _hand_over(self, rounds_left: int) -> None:
        """Hand what was collected to the writer after a few rounds of the loop."""
        if rounds_left:
            self._loop.call_soon(self._hand_over, rounds_left - 1)
            return
        while self._collected:
            self._queue.put(self._collected[:_GROUP_MAX])
            del self._collected[:_GROUP_MAX]

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Do `work` on the loop's own connection: a read takes microseconds, switching threads takes longer."""
        self._require_open()
        return _look(self._reading, self._read_tx, work)

    def _long_read(self, work: Callable[[LongTx], T], feed: bool, connection: apsw.Connection, deadline: Deadline) -> T:
        tx = LongSqliteTx(connection, *self._sources, self._observers)
        tx.deadline = deadline
        # The first ends a long-running statement, the second the work between two statements.
        connection.set_progress_handler(lambda: deadline.passed, _STEPS_BETWEEN_CHECKS)
        connection.exec_trace = lambda *_: not deadline.passed
        try:
            return _look(connection, tx, work)
        except (apsw.InterruptError, apsw.ExecTraceAbort):
            raise deadline.refusal() from None

    def backup(self, target: Path) -> None:
        copy_file(self.path, target)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._hand_over(0)
        self._queue.put(None)
        await asyncio.to_thread(self._writer.join)
        await self._close_readers()
        self._reading.close()
        self._writing.close()

    def _write_groups(self) -> None:
        last = False
        while not last:
            group, last = self._next_group()
            if group:
                committed = self._commit(group)
                woken, self._write_tx.woken = self._write_tx.woken, Counter()
                callbacks, self._callbacks = self._callbacks, []
                self._loop.call_soon_threadsafe(self._answer, group, woken, callbacks, committed)

    def _next_group(self) -> tuple[list[_Work], bool]:
        group = self._queue.get()
        if group is None:
            return [], True
        while len(group) < _GROUP_MAX:
            try:
                following = self._queue.get_nowait()
            except Empty:
                break
            if following is None:
                return group, True
            group += following
        return group, False

    def _commit(self, group: list[_Work]) -> bool:
        """Commit the group as one; if a unit fails, repeat it with a savepoint around each. False on failure."""
        changes = self._writing.total_changes()
        try:
            if not self._try_group(group, guarded=False):
                self._write_tx.woken.clear()
                self._try_group(group, guarded=True)
        except apsw.Error as error:
            # Nothing of the group reached the disk, and every caller must know.
            self.write_error = str(error)
            self._write_tx.woken.clear()
            for item in group:
                item.error = Refusal(
                    Code.STORAGE_UNAVAILABLE, f"The database could not be written ({error}); nothing was changed."
                )
            return False
        # A commit without changes proves nothing about the disk.
        if self._writing.total_changes() != changes:
            self.write_error = None
        return True

    def _try_group(self, group: list[_Work], *, guarded: bool) -> bool:
        # A savepoint copies every page it touches, so the first attempt does without.
        tx, connection = self._write_tx, self._writing
        ticks, do = tx.ticks, _do_guarded if guarded else _do
        connection.execute("BEGIN IMMEDIATE")
        try:
            for item in group:
                if not do(connection, tx, item):
                    connection.execute("ROLLBACK")
                    return False
            self._run_hooks()
            if tx.ticks != ticks:
                connection.execute("UPDATE ticks SET value = ?", (tx.ticks,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return True

    def _run_hooks(self) -> None:
        for bell in self._write_tx.woken.keys() & self._hooks.keys():
            item = _Work(self._hooks[bell])
            _do_guarded(self._writing, self._write_tx, item)
            if item.error is not None:
                _log.error("commit_hook_failed", exc_info=item.error, extra={"bell": bell})
            elif item.result is not None:
                self._callbacks.append(cast(CommitCallback, item.result))

    def _answer(
        self, group: list[_Work], woken: Counter[str], callbacks: list[CommitCallback], committed: bool
    ) -> None:
        self._is_busy = len(group) > 1
        for item in group:
            if item.future is None or item.future.done():
                continue
            if item.error is None:
                item.future.set_result(item.result)
            else:
                item.future.set_exception(item.error)
        for callback in callbacks:
            callback(committed)
        for name in woken:
            self._bells[name].ring()


# Errors of the store itself, not of the work done on it.
_TROUBLE = (apsw.FullError, apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.ReadOnlyError, apsw.CantOpenError)


def _look(connection: apsw.Connection, tx: SomeTx, work: Callable[[SomeTx], T]) -> T:
    """Do a unit of work that changes nothing, and end its transaction."""
    tx.begin()
    try:
        try:
            return work(tx)
        finally:
            # SQLite may have ended the transaction itself, and another error must not hide the first.
            if connection.in_transaction:
                connection.exec_trace = None
                connection.execute("COMMIT")
    except _TROUBLE as error:
        raise Refusal(Code.STORAGE_UNAVAILABLE, f"The database could not be read ({error}).") from error


def _do(_connection: apsw.Connection, tx: SqliteTx, item: _Work) -> bool:
    """Do one unit of work inside the group's transaction; False if it raised and the group must be repeated."""
    tx.begin()
    try:
        item.result = item.work(tx)
        tx.finish()
    except _TROUBLE:
        raise
    except BaseException:  # boundary: the second attempt finds out whose error it is, and the rest of the group goes on
        return False
    return True


def _do_guarded(connection: apsw.Connection, tx: SqliteTx, item: _Work) -> bool:
    """Do one unit of work in a savepoint, so that an error rolls back this unit and nothing else."""
    tx.begin()
    woken = tx.woken.copy()
    connection.execute("SAVEPOINT work")
    try:
        item.result = item.work(tx)
        tx.finish()
    except _TROUBLE:
        raise
    except BaseException as error:  # boundary: the error goes to its caller, the rest of the group goes on
        connection.execute("ROLLBACK TO work")
        tx.woken = woken
        item.error = error
    connection.execute("RELEASE work")
    return True
