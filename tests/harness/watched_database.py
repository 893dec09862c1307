"""A store that refuses statements which forget their account: all stores of the harnesses are watched by it.

Only statements of the product are looked at, not those a test writes. A store function that works across accounts on
purpose stands in STORE_SIGNATURES with its reason; what it joins must be of one account nevertheless.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from carrel.storage import Bell, Database, Landing, LongTx, Tx
from tests.harness.account_sql import unbound_tables
from tests.harness.wrapped_database import WrappedDatabase
from tests.house.exceptions import ASKER, ENGINE, SERVER, STORE_SIGNATURES

T = TypeVar("T")
C = TypeVar("C")
ACROSS_ACCOUNTS = {name for name, reason in STORE_SIGNATURES.items() if reason in (ASKER, ENGINE, SERVER)}


_written: WeakKeyDictionary[asyncio.AbstractEventLoop, Bell] = WeakKeyDictionary()


def written() -> Bell:
    """Return the bell that rings after every write of this loop's stores, whatever they are for."""
    return _written.setdefault(asyncio.get_running_loop(), Bell())


class ForgottenAccount(AssertionError):
    """A statement may touch rows of any account."""


class WatchedDatabase(WrappedDatabase):
    """Looks at every statement, also of observers and riders; what a boundary swallowed fails at the end."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.forgotten: list[str] = []

    async def write(self, work: Callable[[Tx], T]) -> T:
        try:
            return await self.db.write(lambda tx: work(self.watched(tx)))
        finally:
            written().ring()

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.db.read(lambda tx: work(self.watched(tx)))

    async def long_read(self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True) -> T:
        return await self.db.long_read(lambda tx: work(self.watched(tx)), seconds_max=seconds_max, urgent=urgent)

    def observe(self, change: type[C], observer: Callable[[Tx, C], None]) -> None:
        self.db.observe(change, lambda tx, changed: observer(self.watched(tx), changed))

    def join(self, bell: str, rider: Callable[[Tx], Landing | None]) -> None:
        self.db.join(bell, lambda tx: rider(self.watched(tx)))

    def watched(self, tx: Tx) -> Any:
        """The transaction, watched."""
        return tx if isinstance(tx, _WatchedTx) else _WatchedTx(tx, self.forgotten)

    async def close(self) -> None:
        await super().close()
        if self.forgotten:
            raise ForgottenAccount("\n".join(self.forgotten))


class _WatchedTx:
    """Passes everything on to the transaction behind it and looks at the statements."""

    def __init__(self, tx: Tx, forgotten: list[str]) -> None:
        self._tx = tx
        self._forgotten = forgotten

    def __getattr__(self, name: str) -> Any:
        passed = getattr(self._tx, name)
        if name not in ("all", "one", "run", "run_many", "later"):
            return passed

        def execute(sql: str, *args: Any, **values: Any) -> Any:
            if tables := unbound_tables(sql):
                self._judge(sql, tables)
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
