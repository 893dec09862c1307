"""The database as every room sees it: transactions, bells, observers, backup. There are two implementations.

A unit of work is a plain function of a transaction. It cannot await, so no model call, HTTP call or sleep can ever
happen while a transaction is open.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from carrel.kernel import Chance, Code, Ids, Refusal
from carrel.kernel.limits import LONG_READ_SECONDS_MAX
from carrel.storage.bells import Bell
from carrel.storage.long_reads import ConnectionType, Deadline, LongReads

T = TypeVar("T")
C = TypeVar("C")
# Called on the loop once it is known whether the transaction was committed.
CommitCallback = Callable[[bool], None]
Row = tuple[Any, ...]
# Type of a change -> who is called when one is published, in order.
Observers = dict[type[Any], list[Callable[["Tx", Any], None]]]


class InAccount(Protocol):
    """Anything that belongs to one account, such as an Access or a claim."""

    @property
    def account_id(self) -> str:
        """The account's id."""


class Tx(Protocol):
    """One open transaction. SQL is written once, for PostgreSQL, with `:name` parameters; rows are tuples.

    An `access`, or anything else that has an account, binds `:account`.
    """

    now: int
    # How often each bell was rung in this transaction.
    woken: Counter[str]

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        """Return every row."""

    def one(self, sql: str, access: InAccount | None = None, /, **values: object) -> Row | None:
        """Return the first row, or None."""

    def value(self, sql: str, access: InAccount | None = None, /, **values: object) -> Any | None:
        """Return the first column of the first row, or None."""

    def run(self, sql: str, access: InAccount | None = None, /, **values: object) -> int:
        """Execute and return the number of rows changed."""

    def run_many(self, sql: str, rows: list[dict[str, object]]) -> None:
        """Execute once for each set of values, as `pipeline` does."""

    def pipeline(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        """Execute before the next statement, without waiting; an error may be raised there.

        On PostgreSQL this costs no extra round trip.
        """

    def defer(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        """Execute at the end of this unit of work, in one batch with everything deferred under the same SQL."""

    def prefetch(self, *reads: Callable[[], object]) -> None:
        """Execute the first statement of each of these functions now, in this order.

        On PostgreSQL this is one round trip for all of them. When the same statement is executed later, it gets the
        answer that was prefetched, once, unless something was written in between; until then it is not prefetched
        again. `tick` may be among the functions: its number is kept whatever is written, and is drawn after the locks
        that the statements before it take.
        """

    def cached(self, name: Hashable, read: Callable[[], T]) -> T:
        """Return what `read` returns, read once per unit of work: for values that many use and few change.

        Whoever writes or locks such a value calls `invalidate`.
        """

    def invalidate(self) -> None:
        """Drop cached values and numbers that were drawn ahead, so that both are read again."""

    def attempt(self, work: Callable[[], T]) -> T:
        """Do a part of this unit of work; an error rolls back this part only and is raised here."""

    def tick(self) -> int:
        """Return the next number of the sequence that orders runs, entries and events; so does `tick()` in SQL."""

    def new_id(self, prefix: str) -> str:
        """Return a new id."""

    def chance(self) -> float:
        """Return a random number in 0..1."""

    def wake(self, bell: str) -> None:
        """Ring that bell once this transaction is committed."""

    def publish(self, change: object) -> None:
        """Call the observers of this type of change in registration order, inside this transaction."""

    def horizon(self) -> int:
        """Return the number up to which all rows are visible; above it, some may not be committed yet."""


class LongTx(Tx, Protocol):
    """The transaction of a long read. Functions that read a lot require this type, so they cannot run on the loop."""

    @property
    def seconds_left(self) -> float:
        """How much time the read has left."""


class Database(Protocol):
    """One store of everything. `write` is durable when it returns."""

    engine: str

    @property
    def write_error(self) -> str | None:
        """Why the last write failed, for example on a full disk; None after a success."""

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Do `work` in a transaction and commit it; an error rolls it back and is raised here.

        `work` may be called again from the start if the transaction has to be repeated.
        """

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Do `work`, which must change nothing and read little, on committed data.

        On SQLite it runs on the loop, so it must take microseconds; use `long_read` for everything else. Each statement
        sees one moment. On PostgreSQL the next statement may see a later one: a row that the first statement found may
        be gone, and rows up to a bound must be read after the bound.
        """

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = LONG_READ_SECONDS_MAX, urgent: bool = True,
        feed: bool = True,
    ) -> T:  # fmt: skip
        """Do `work`, which must change nothing, on one moment of committed data, outside the loop.

        For anything that may take longer than a short read: search, context, statistics, exports. It is refused after
        `seconds_max`, and stops when its caller is gone. Reads that are not `urgent`, such as searches, have
        connections and threads of their own, so that no turn waits for them. Reads without `feed` get a horizon that
        may be older, and do not wait for the current one.
        """

    def bell(self, name: str) -> Bell:
        """Return the bell of that name; it rings for changes by any process that shares the store."""

    def observe(self, change: type[C], observer: Callable[[Tx, C], None]) -> None:
        """Call `observer` inside every transaction that publishes a change of this type.

        Register observers while the server is put together. An error in one rolls back the transaction.
        """

    def before_commit(self, bell: str, hook: "Callable[[Tx], CommitCallback | None]") -> None:
        """Call `hook` at the end of every transaction that rings `bell`, inside that transaction.

        It must not fail. It may remove the bell from `tx.woken` if there is nothing left to wake for.
        """

    def backup(self, target: Path) -> None:
        """Write a consistent copy as a SQLite file while the store is in use. Blocks; call it in a thread."""

    async def close(self) -> None:
        """Finish accepted work and close the store."""


class CommonTx(Tx):
    """What the transactions of both engines have in common."""

    def __init__(self, ids: Ids, chance: Chance, observers: Observers) -> None:
        self._ids = ids
        self._chance = chance
        self._observers = observers
        self.woken = Counter()
        self._cache: dict[Hashable, Any] = {}

    def value(self, sql: str, access: InAccount | None = None, /, **values: object) -> Any | None:
        row = self.one(sql, access, **values)
        return row[0] if row else None

    def cached(self, name: Hashable, read: Callable[[], T]) -> T:
        if name not in self._cache:
            self._cache[name] = read()
        value: T = self._cache[name]
        return value

    def invalidate(self) -> None:
        self._cache.clear()

    def new_id(self, prefix: str) -> str:
        return self._ids.new(prefix)

    def chance(self) -> float:
        return self._chance.random()

    def wake(self, bell: str) -> None:
        self.woken[bell] += 1

    def publish(self, change: object) -> None:
        for observer in self._observers.get(type(change), ()):
            observer(self, change)


class CommonDatabase(Database, Generic[ConnectionType]):
    """What the databases of both engines have in common."""

    write_error: str | None = None

    def __init__(self, connect: Callable[[], ConnectionType], *, urgent_readers: int, patient_readers: int) -> None:
        self._loop = asyncio.get_running_loop()
        # By whether they are urgent.
        self._long_reads = {True: LongReads(connect, urgent_readers), False: LongReads(connect, patient_readers)}
        self._bells: defaultdict[str, Bell] = defaultdict(Bell)
        self._observers: Observers = {}
        self._hooks: dict[str, Callable[[Tx], CommitCallback | None]] = {}
        self._closed = False

    def bell(self, name: str) -> Bell:
        return self._bells[name]

    def observe(self, change: type[C], observer: Callable[[Tx, C], None]) -> None:
        self._observers.setdefault(change, []).append(observer)

    def before_commit(self, bell: str, hook: Callable[[Tx], CommitCallback | None]) -> None:
        self._hooks[bell] = hook

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = LONG_READ_SECONDS_MAX, urgent: bool = True,
        feed: bool = True,
    ) -> T:  # fmt: skip
        self._require_open()
        return await self._long_reads[urgent].run(partial(self._long_read, work, feed), seconds_max)

    def _long_read(self, work: Callable[[LongTx], T], feed: bool, connection: ConnectionType, deadline: Deadline) -> T:
        raise AssertionError("each engine reads in its own way")

    async def _close_readers(self) -> None:
        for readers in self._long_reads.values():
            await asyncio.to_thread(readers.close)

    def _require_open(self) -> None:
        if self._closed:
            raise Refusal(Code.STORAGE_UNAVAILABLE, "The store is closed; start the server again.")
