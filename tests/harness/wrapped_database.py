"""A store that passes everything on to another; a test overrides what is to go differently."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from carrel.storage import Bell, CommitCallback, Database, LongTx, Tx

T = TypeVar("T")
C = TypeVar("C")


class WrappedDatabase:
    """Passes everything on to the store behind it."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.engine = db.engine

    @property
    def write_error(self) -> str | None:
        return self.db.write_error

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await self.db.write(work)

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.db.read(work)

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
    ) -> T:
        return await self.db.long_read(work, seconds_max=seconds_max, urgent=urgent, feed=feed)

    def bell(self, name: str) -> Bell:
        return self.db.bell(name)

    def observe(self, change: type[C], observer: Callable[[Tx, C], None]) -> None:
        self.db.observe(change, observer)

    def before_commit(self, bell: str, hook: Callable[[Tx], CommitCallback | None]) -> None:
        self.db.before_commit(bell, hook)

    def backup(self, target: Path) -> None:
        self.db.backup(target)

    async def close(self) -> None:
        await self.db.close()
