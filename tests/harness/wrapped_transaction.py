"""A transaction that passes everything on to another; a test overrides what is to go differently."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from carrel.storage import LongTx, Row, Tx
from carrel.storage.database import InAccount

T = TypeVar("T")


class WrappedTransaction:
    """Passes everything on to the transaction behind it."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.now = tx.now
        self.woken: Counter[str] = tx.woken

    @property
    def seconds_left(self) -> float:
        long_tx: LongTx = self.tx  # type: ignore[assignment]
        return long_tx.seconds_left

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        return self.tx.all(sql, access, **values)

    def one(self, sql: str, access: InAccount | None = None, /, **values: object) -> Row | None:
        return self.tx.one(sql, access, **values)

    def value(self, sql: str, access: InAccount | None = None, /, **values: object) -> Any | None:
        return self.tx.value(sql, access, **values)

    def run(self, sql: str, access: InAccount | None = None, /, **values: object) -> int:
        return self.tx.run(sql, access, **values)

    def run_many(self, sql: str, rows: list[dict[str, object]]) -> None:
        self.tx.run_many(sql, rows)

    def pipeline(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        self.tx.pipeline(sql, access, **values)

    def defer(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        self.tx.defer(sql, access, **values)

    def prefetch(self, *reads: Callable[[], object]) -> None:
        self.tx.prefetch(*reads)

    def cached(self, name: Hashable, read: Callable[[], T]) -> T:
        return self.tx.cached(name, read)

    def invalidate(self) -> None:
        self.tx.invalidate()

    def attempt(self, work: Callable[[], T]) -> T:
        return self.tx.attempt(work)

    def tick(self) -> int:
        return self.tx.tick()

    def new_id(self, prefix: str) -> str:
        return self.tx.new_id(prefix)

    def chance(self) -> float:
        return self.tx.chance()

    def wake(self, bell: str) -> None:
        self.tx.wake(bell)

    def publish(self, change: object) -> None:
        self.tx.publish(change)

    def horizon(self) -> int:
        return self.tx.horizon()
