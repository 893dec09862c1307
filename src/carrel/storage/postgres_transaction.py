"""Transactions on PostgreSQL: statements are sent together where possible, to save round trips."""

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from psycopg.pq.abc import PGresult

from carrel.kernel import Chance, Ids
from carrel.storage.database import CommonTx, InAccount, Observers, Row
from carrel.storage.dialect import join_rows
from carrel.storage.long_reads import Deadline
from carrel.storage.statements import Statements

# The upper 16 bits of our advisory locks; the 48 below are the number.
_MARK = 0x4341
_FIRST = _MARK << 48
# A plain SELECT of `last_value` may see a value that was logged ahead but not drawn; the function does not.
_NEWEST = "COALESCE(pg_sequence_last_value('ticks'), 0)"
NEWEST = f"SELECT {_NEWEST}"
_LOWEST_HELD = (
    f"SELECT min((classid::bigint << 32 | objid::bigint) - {_FIRST}) FROM pg_locks WHERE locktype = 'advisory' "
    f"AND objsubid = 1 AND classid::bigint >> 16 = {_MARK} "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# How every write begins. The lock is shared, so nobody waits for it, and it is released once the commit is visible.
BEGIN = ("BEGIN", f"SELECT pg_advisory_xact_lock_shared({_FIRST} + {_NEWEST})")
T = TypeVar("T")
_DRAW = "SELECT nextval('ticks')"


class Horizon:
    """The horizon as one server knows it; it never goes back, since settled numbers stay settled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The newest horizon known.
        self.settled = 0

    def look(self, statements: Statements) -> int:
        """Return the horizon now; read rows afterwards, in a statement that sees everything committed by then."""
        # The order matters: a write that begins between these statements draws numbers above the newest one.
        statements.add(NEWEST, {})
        statements.add(_LOWEST_HELD, {})
        newest, held = (statements.rows(answer)[0][0] for answer in statements.execute_added()[-2:])
        if newest > self.settled:
            with self._lock:
                self.settled = max(self.settled, newest if held is None else min(newest, held))
        return self.settled


class _FirstStatement(BaseException):
    """Carries the first statement of a function that was called only to learn it."""

    def __init__(self, sql: str, values: dict[str, object]) -> None:
        super().__init__(sql)
        self.sql = sql
        self.values = values


def _named(sql: str, values: dict[str, object]) -> Hashable:
    return sql, tuple(values.items())


class PostgresTx(CommonTx):
    """A transaction on one pooled connection."""

    def __init__(
        self, statements: Statements, now: int, ids: Ids, chance: Chance, horizon: Horizon, observers: Observers
    ) -> None:
        super().__init__(ids, chance, observers)
        self._statements = statements
        self._horizon = horizon
        self.now = now
        self._deferred: dict[str, list[dict[str, object]]] = {}
        self._is_probing = False
        # Answers to prefetched statements.
        self._answers: dict[Hashable, PGresult] = {}
        # Numbers that were drawn ahead, the newest first.
        self._drawn: list[int] = []

    def _execute(self, sql: str, access: InAccount | None, values: dict[str, object]) -> PGresult:
        if access is not None:
            values["account"] = access.account_id
        if self._is_probing:
            raise _FirstStatement(sql, values)
        answer = self._answers.pop(_named(sql, values), None) if self._answers else None
        return self._statements.execute(sql, values) if answer is None else answer

    def prefetch(self, *reads: Callable[[], object]) -> None:
        wanted = [one for one in map(self._first_of, reads) if one is not None and _named(*one) not in self._answers]
        for sql, values in wanted:
            self._statements.add(sql, values)
        if wanted:
            answers = self._statements.execute_added()[-len(wanted) :]
            made = list(zip(wanted, answers, strict=True))
            self._answers |= {_named(*one): answer for one, answer in made if one[0] != _DRAW}
            self._drawn = [self._number_in(answer) for one, answer in reversed(made) if one[0] == _DRAW] + self._drawn

    def _first_of(self, read: Callable[[], object]) -> tuple[str, dict[str, object]] | None:
        self._is_probing = True
        try:
            read()
        except _FirstStatement as first:
            return first.sql, first.values
        finally:
            self._is_probing = False
        return None

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        return self._statements.rows(self._execute(sql, access, values))

    def one(self, sql: str, access: InAccount | None = None, /, **values: object) -> Row | None:
        rows = self._statements.rows(self._execute(sql, access, values))
        return rows[0] if rows else None

    def run(self, sql: str, access: InAccount | None = None, /, **values: object) -> int:
        self._answers.clear()
        return self._execute(sql, access, values).command_tuples or 0

    def run_many(self, sql: str, rows: list[dict[str, object]]) -> None:
        self._answers.clear()
        for row in rows:
            self._statements.add(sql, row)

    def pipeline(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        if access is not None:
            values["account"] = access.account_id
        self._answers.clear()
        self._statements.add(sql, values)

    def defer(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        if access is not None:
            values["account"] = access.account_id
        self._deferred.setdefault(sql, []).append(values)

    def commit(self) -> None:
        """Execute what was deferred, and commit, in one round trip."""
        for sql, rows in self._deferred.items():
            for joined, values in join_rows(sql, rows):
                self._statements.add(joined, values)
        self._deferred.clear()
        self._statements.commit()

    def attempt(self, work: Callable[[], T]) -> T:
        woken, deferred = self.woken.copy(), {sql: list(rows) for sql, rows in self._deferred.items()}
        self._statements.execute("SAVEPOINT part", {})
        try:
            done = work()
            self._statements.execute("RELEASE part", {})
            return done
        except BaseException:
            self._statements.discard()
            self._statements.add("ROLLBACK TO part", {})
            self._statements.execute("RELEASE part", {})
            self.woken, self._deferred = woken, deferred
            self.invalidate()
            raise

    def invalidate(self) -> None:
        super().invalidate()
        self._drawn.clear()

    def tick(self) -> int:
        if self._drawn:
            return self._drawn[-1] if self._is_probing else self._drawn.pop()
        return self._number_in(self._execute(_DRAW, None, {}))

    def _number_in(self, answer: PGresult) -> int:
        return int(self._statements.rows(answer)[0][0])

    def horizon(self) -> int:
        return self._horizon.look(self._statements)


class LongPostgresTx(PostgresTx):
    """A transaction of a long read: every statement checks the deadline first."""

    deadline: Deadline
    # Looked up before the read began, since all its statements see the store of that moment.
    settled: int

    def horizon(self) -> int:
        return self.settled

    @property
    def seconds_left(self) -> float:
        return self.deadline.seconds_left

    def _execute(self, sql: str, access: InAccount | None, values: dict[str, object]) -> PGresult:
        self.deadline.check()
        return super()._execute(sql, access, values)
