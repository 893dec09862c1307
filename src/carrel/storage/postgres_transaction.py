"""Transactions on PostgreSQL: statements are sent together where possible, to save round trips."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from psycopg.pq.abc import PGresult

from carrel.kernel import Chance, Ids
from carrel.storage.database import CommonTx, InAccount, Observers, Row
from carrel.storage.horizon import Horizon
from carrel.storage.long_reads import Deadline
from carrel.storage.statements import Statements

T = TypeVar("T")
_DRAW = "SELECT nextval('ticks')"


class _Foreseen(BaseException):
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
        self._later: dict[str, list[dict[str, object]]] = {}
        self._is_foreseeing = False
        # Answers to prefetched statements.
        self._answers: dict[Hashable, PGresult] = {}
        # Numbers that were drawn ahead, the newest first.
        self._drawn: list[int] = []

    def _execute(self, sql: str, access: InAccount | None, values: dict[str, object]) -> PGresult:
        if access is not None:
            values["account"] = access.account_id
        if self._is_foreseeing:
            raise _Foreseen(sql, values)
        answer = self._answers.pop(_named(sql, values), None) if self._answers else None
        return self._statements.execute(sql, values) if answer is None else answer

    def ahead(self, *reads: Callable[[], object]) -> None:
        foreseen = list(filter(None, map(self._first_of, reads)))
        for sql, values in foreseen:
            self._statements.add(sql, values)
        if foreseen:
            answers = self._statements.execute_added()[-len(foreseen) :]
            made = list(zip(foreseen, answers, strict=True))
            self._answers = {_named(*one): answer for one, answer in made if one[0] != _DRAW}
            self._drawn = [self._number_in(answer) for one, answer in reversed(made) if one[0] == _DRAW] + self._drawn

    def _first_of(self, read: Callable[[], object]) -> tuple[str, dict[str, object]] | None:
        self._is_foreseeing = True
        try:
            read()
        except _Foreseen as foreseen:
            return foreseen.sql, foreseen.values
        finally:
            self._is_foreseeing = False
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

    def soon(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        if access is not None:
            values["account"] = access.account_id
        self._answers.clear()
        self._statements.add(sql, values)

    def later(self, sql: str, access: InAccount | None = None, /, **values: object) -> None:
        if access is not None:
            values["account"] = access.account_id
        self._later.setdefault(sql, []).append(values)

    def commit(self) -> None:
        """Execute what was deferred, and commit, in one round trip."""
        for sql, rows in self._later.items():
            for row in rows:
                self._statements.add(sql, row)
        self._later.clear()
        self._statements.commit()

    def attempt(self, work: Callable[[], T]) -> T:
        woken, later = self.woken.copy(), {sql: list(rows) for sql, rows in self._later.items()}
        self._statements.execute("SAVEPOINT part", {})
        try:
            done = work()
            self._statements.execute("RELEASE part", {})
            return done
        except BaseException:
            self._statements.forget()
            self._statements.add("ROLLBACK TO part", {})
            self._statements.execute("RELEASE part", {})
            self.woken, self._later = woken, later
            self.forget()
            raise

    def forget(self) -> None:
        super().forget()
        self._drawn.clear()

    def tick(self) -> int:
        return self._drawn.pop() if self._drawn else self._number_in(self._execute(_DRAW, None, {}))

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
