"""A store that refuses statements which forget their account: all stores of the harnesses are watched by it.

Only statements of the product are looked at, not those a test writes. A store function that works across accounts on
purpose stands in STORE_SIGNATURES with its reason; what it joins must be of one account nevertheless.

It can also count: `cost` is what everything that was done since `count_anew` took of the store.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from carrel.storage import Bell, CommitCallback, Database, LongTx, Tx
from tests.harness.account_sql import unbound_tables
from tests.harness.wrapped_database import WrappedDatabase
from tests.house.exceptions import ASKER, ENGINE, SERVER, STORE_SIGNATURES

T = TypeVar("T")
C = TypeVar("C")
_SITE_FRAMES = 4
ACROSS_ACCOUNTS = {name for name, reason in STORE_SIGNATURES.items() if reason in (ASKER, ENGINE, SERVER)}


_written: WeakKeyDictionary[asyncio.AbstractEventLoop, Bell] = WeakKeyDictionary()


def written() -> Bell:
    """Return the bell that rings after every write of this loop's stores, whatever they are for."""
    return _written.setdefault(asyncio.get_running_loop(), Bell())


class ForgottenAccount(AssertionError):
    """A statement may touch rows of any account."""


class Statement(NamedTuple):
    """One statement; `work` is the module that the unit of work is in, and `site` who asked in it, innermost first."""

    work: str
    site: str
    sql: str


class Cost:
    """What was asked of a store: statements, and commits by the modules of their units of work.

    What is deferred, or done for many rows at once, is one statement.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.commits: list[str] = []

    def __str__(self) -> str:
        by_site = Counter(one.site for one in self.statements).most_common()
        lines = [f"{times:4} {site}" for site, times in by_site]
        return "\n".join([f"{len(self.statements)} statements, {len(self.commits)} commits", *lines])


class WatchedDatabase(WrappedDatabase):
    """Looks at every statement, also of observers and hooks; what a boundary swallowed fails at the end."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.forgotten: list[str] = []
        self.cost = Cost()

    def count_anew(self) -> Cost:
        """Count from zero on, and return where."""
        self.cost = Cost()
        return self.cost

    async def write(self, work: Callable[[Tx], T]) -> T:
        module = getattr(work, "func", work).__module__
        if not module.startswith("tests."):
            self.cost.commits.append(module)
        try:
            return await self.db.write(lambda tx: work(self.watched(tx, is_counted=not module.startswith("tests."))))
        finally:
            written().ring()

    async def read(self, work: Callable[[Tx], T]) -> T:
        # What a test looks at costs the product nothing.
        is_counted = not work.__module__.startswith("tests.")
        return await self.db.read(lambda tx: work(self.watched(tx, is_counted=is_counted)))

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
    ) -> T:
        return await self.db.long_read(
            lambda tx: work(self.watched(tx)), seconds_max=seconds_max, urgent=urgent, feed=feed
        )

    def observe(self, change: type[C], observer: Callable[[Tx, C], None]) -> None:
        self.db.observe(change, lambda tx, changed: observer(self.watched(tx), changed))

    def before_commit(self, bell: str, hook: Callable[[Tx], CommitCallback | None]) -> None:
        self.db.before_commit(bell, lambda tx: hook(self.watched(tx)))

    def watched(self, tx: Tx, *, is_counted: bool = True) -> Any:
        """The transaction, watched."""
        return tx if isinstance(tx, _WatchedTx) else _WatchedTx(tx, self.forgotten, self.cost if is_counted else Cost())

    async def close(self) -> None:
        await super().close()
        if self.forgotten:
            raise ForgottenAccount("\n".join(self.forgotten))


class _WatchedTx:
    """Passes everything on to the transaction behind it and looks at the statements."""

    def __init__(self, tx: Tx, forgotten: list[str], cost: Cost) -> None:
        self._tx = tx
        self._forgotten = forgotten
        self._cost = cost
        self._deferred: set[str] = set()
        self._is_ahead = False

    def prefetch(self, *reads: Callable[[], object]) -> None:
        """What is read ahead is counted when it is asked for."""
        self._is_ahead = True
        try:
            self._tx.prefetch(*reads)
        finally:
            self._is_ahead = False

    def __getattr__(self, name: str) -> Any:
        passed = getattr(self._tx, name)
        if name not in ("all", "one", "value", "run", "run_many", "pipeline", "defer"):
            return passed

        def execute(sql: str, *args: Any, **values: Any) -> Any:
            if tables := unbound_tables(sql):
                self._judge(sql, tables)
            if not self._is_ahead and (name != "defer" or sql not in self._deferred):
                self._cost.statements.append(Statement(*_callers_of_store(), sql))
            if name == "defer":
                self._deferred.add(sql)
            return passed(sql, *args, **values)

        return execute

    def _judge(self, sql: str, tables: tuple[str, ...]) -> None:
        caller = sys._getframe(2)
        name = f"{caller.f_globals['__name__']}.{caller.f_code.co_qualname.partition('.')[0]}"
        if name in ACROSS_ACCOUNTS:
            tables = unbound_tables(sql, across=True)
        if tables and name.startswith("carrel."):
            self._forgotten.append(f"{name} forgets the account of {', '.join(tables)}: {sql}")
            raise ForgottenAccount(self._forgotten[-1])


def _callers_of_store() -> tuple[str, str]:
    """The module of the product in which a unit of work begins, and the functions that led to a statement in it."""
    frame: FrameType | None = sys._getframe(2)
    named: list[tuple[str, str]] = []
    while frame is not None and not frame.f_code.co_filename.endswith("watched_database.py"):
        module = frame.f_globals["__name__"]
        if module.startswith("carrel.") and not module.startswith("carrel.storage."):
            named.append((module, frame.f_code.co_name))
        frame = frame.f_back
    site = " < ".join(f"{module.removeprefix('carrel.')}.{name}" for module, name in named[:_SITE_FRAMES])
    return named[-1][0] if named else "", site
