"""The statements of one connection to PostgreSQL: prepared when they repeat, sent together where possible.

The driver's cursors take several times as long as a short statement, so the driver only converts values and rows here.
Statements whose result nobody waits for are queued and travel with the next one that somebody waits for.
"""

import select
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result

from carrel.kernel.limits import POSTGRES_STATEMENTS_MAX
from carrel.storage.database import Row
from carrel.storage.dialect import Values, for_postgres

Connection = psycopg.Connection[Row]
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)
_SYNC = pq.ExecStatus.PIPELINE_SYNC
_OPEN = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
_READABLE, _BOTH = select.POLLIN, select.POLLIN | select.POLLOUT


class _Sent:
    """A statement with its values, ready to send; `name` is empty if it is not prepared."""

    __slots__ = ("formats", "name", "text", "types", "values")

    def __init__(
        self, name: bytes, text: bytes, values: Sequence[Any], types: tuple[int, ...], formats: Sequence[int]
    ) -> None:  # fmt: skip
        self.name, self.text, self.values, self.types, self.formats = name, text, values, types, formats


class Statements:
    """Executes statements on one connection, which nothing else may use meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pgconn = connection.pgconn
        self._values = Transformer(connection)
        # Prepared statements by text and types of their values; an empty name marks one that was seen once.
        self._names: OrderedDict[tuple[bytes, tuple[int, ...]], bytes] = OrderedDict()
        self._number = 0
        self._waiting: list[tuple[str, Values]] = []
        # Whether the store has answered, or may have done, anything since the transaction began.
        self.is_answered = True

    @property
    def closed(self) -> bool:
        """Whether the connection was closed or cut."""
        return self.connection.closed

    def close(self) -> None:
        self.connection.close()

    def begin(self, *statements: str) -> None:
        """Begin a transaction with these statements; they are sent with the first one that follows."""
        self.is_answered = False
        self._waiting = [(sql, {}) for sql in statements]

    def commit(self) -> None:
        """Execute what was queued, and commit."""
        # If the connection is lost now, nobody knows what was done.
        self.is_answered = True
        self.execute("COMMIT", {})

    def end(self) -> None:
        """Roll back the open transaction, if any, and drop what was queued."""
        self.discard()
        if self._pgconn.transaction_status in _OPEN:
            self.execute("ROLLBACK", {})
        elif self._pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
            # An error was raised while answers were in flight; the next statement would take them for its own.
            self.close()

    def add(self, sql: str, values: Values) -> None:
        """Queue a statement to run before the next one; its error is raised there."""
        self._waiting.append((sql, values))

    def discard(self) -> None:
        """Drop what was queued since the last statement."""
        self._waiting.clear()

    def execute(self, sql: str, values: Values) -> pq.abc.PGresult:
        """Execute what was queued and this statement; return the result of this one."""
        if self._waiting:
            self.add(sql, values)
            return self.execute_added()[-1]
        sent = self._prepare(sql, values)
        if sent.name:
            result = self._pgconn.exec_prepared(sent.name, sent.values, sent.formats)
        else:
            result = self._pgconn.exec_params(sent.text, sent.values, sent.types, sent.formats)
        if result.status in _FAILED:
            raise self._error(result)
        self.is_answered = True
        return result

    def execute_added(self) -> list[pq.abc.PGresult]:
        """Execute what was queued, in one round trip; return the results."""
        added, self._waiting = self._waiting, []
        if not added:
            return []
        sent = [self._prepare(sql, values) for sql, values in added]
        self._pgconn.enter_pipeline_mode()
        try:
            for one in sent:
                if one.name:
                    self._pgconn.send_query_prepared(one.name, one.values, one.formats)
                else:
                    self._pgconn.send_query_params(one.text, one.values, one.types, one.formats)
            self._pgconn.pipeline_sync()
            results = self._received()
        finally:
            if self._pgconn.status != pq.ConnStatus.BAD:
                self._pgconn.exit_pipeline_mode()
        failed = next((result for result in results if result.status in _FAILED), None)
        if failed is not None:
            raise self._error(failed)
        self.is_answered = True
        return results

    def rows(self, result: pq.abc.PGresult) -> list[Row]:
        """Return the rows of a result."""
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)

    def _received(self) -> list[pq.abc.PGresult]:
        """The results of everything sent, once all have arrived."""
        waiting, results = select.poll(), list[pq.abc.PGresult]()
        waiting.register(self._pgconn.socket, _BOTH)
        while self._pgconn.flush():
            # Large values do not fit the socket buffer, and PostgreSQL stops reading until its answers are read.
            waiting.poll()
            self._pgconn.consume_input()
        waiting.modify(self._pgconn.socket, _READABLE)
        while True:
            while self._pgconn.is_busy():
                waiting.poll()
                self._pgconn.consume_input()
            result = self._pgconn.get_result()
            if result is None:
                continue
            if result.status == _SYNC:
                return results
            results.append(result)
            self._require_connected(result)
            # Nothing ends the results of a statement, and is there already: asking whether it is would hand the
            # interpreter to another thread.
            self._pgconn.get_result()

    def _prepare(self, sql: str, values: Values) -> _Sent:
        """Prepare a statement the second time it is used: most that are used once are never used again."""
        text, ordered = for_postgres(sql)
        given = ordered(values)
        dumped = self._values.dump_sequence(given, [PyFormat.AUTO] * len(given))
        types, formats = tuple(self._values.types or ()), self._values.formats or ()
        at = (text, types)
        name = self._names.get(at)
        if name is None:
            self._keep(at)
            return _Sent(b"", text, dumped, types, formats)
        self._names.move_to_end(at)
        if not name:
            self._number += 1
            name = b"c%d" % self._number
            result = self._pgconn.prepare(name, text, types)
            if result.status in _FAILED:
                raise self._error(result)
            self._names[at] = name
        return _Sent(name, text, dumped, types, formats)

    def _keep(self, at: tuple[bytes, tuple[int, ...]]) -> None:
        self._names[at] = b""
        if len(self._names) > POSTGRES_STATEMENTS_MAX:
            _, oldest = self._names.popitem(last=False)
            if oldest:
                self._pgconn.exec_(b"DEALLOCATE " + oldest)

    def _error(self, result: pq.abc.PGresult) -> psycopg.Error:
        self._require_connected(result)
        return error_from_result(result, encoding=self.connection.info.encoding)

    def _require_connected(self, result: pq.abc.PGresult) -> None:
        if self._pgconn.status == pq.ConnStatus.BAD:
            raise psycopg.OperationalError(result.error_message.decode(errors="replace"))
