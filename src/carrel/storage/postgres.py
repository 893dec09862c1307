"""PostgreSQL: a pool of connections in threads, and wake-ups between processes outside the writing transactions.

A NOTIFY inside a commit takes a global lock and costs more than ten times the throughput; so one connection of each
process announces the bells of all its transactions together, at most a few milliseconds later.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from logging import getLogger
from pathlib import Path
from typing import TypeVar

import psycopg

from carrel.kernel import Chance, Clock, Code, Ids, Refusal, limits, log_trouble
from carrel.kernel.limits import ANALYZED_ROWS_MIN, WRITES_PER_LOOK_AT_STATISTICS
from carrel.storage.backup import copy_to_sqlite
from carrel.storage.bell_relay import BellRelay
from carrel.storage.bells import FEED
from carrel.storage.database import CommitCallback, CommonDatabase, LongTx, Row, Tx
from carrel.storage.dialect import script_for
from carrel.storage.long_reads import Deadline, Workers
from carrel.storage.postgres_transaction import BEGIN, Horizon, LongPostgresTx, PostgresTx
from carrel.storage.schema import pending
from carrel.storage.statements import Connection, Statements

T = TypeVar("T")
_log = getLogger("carrel.storage")
_CONNECTIONS = 8
_TRIES = 5
# A host that does not answer must not block a pool thread for minutes.
_CONNECT_SECONDS = 10
# PostgreSQL rolls back the write of a server that hangs or is gone: it would hold back all followers.
_NO_HANGING = (
    f"SET idle_in_transaction_session_timeout TO '{limits.WRITE_IDLE_SECONDS_MAX}s'; SET tcp_keepalives_idle TO 10; "
    "SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 3"
)
# Short statements find their rows by an index. Plans are cached, and a table that was small at planning time may be
# large now; a table is scanned only if no index fits.
_BY_INDEX = "SET enable_seqscan TO off"
_MIGRATION_LOCK = 7_279_143_051
_UNKNOWN = (
    "SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables WHERE last_analyze IS NULL "
    "AND last_autoanalyze IS NULL AND n_live_tup >= :rows"
)


class PostgresDatabase(CommonDatabase[Statements]):
    """The shared store of several processes."""

    engine = "postgresql"

    def __init__(self, url: str, *, durability: str, clock: Clock, ids: Ids, chance: Chance) -> None:
        super().__init__(
            lambda: Statements(connect(url, durability)), urgent_readers=limits.LONG_READERS_POSTGRES,
            patient_readers=limits.PATIENT_READERS_POSTGRES,
        )  # fmt: skip
        self._url = url
        self._durability = durability
        self._clock, self._ids, self._chance = clock, ids, chance
        self._horizon = Horizon()
        self._statistics = Statistics()
        self._local = threading.local()
        self._connections: list[Statements] = []
        self._connecting = threading.Lock()
        self._workers = Workers(_CONNECTIONS, "carrel-postgres")
        try:
            with connect(url, durability) as connection:
                migrate_postgres(connection)
        except psycopg.OperationalError as error:
            raise _unavailable(error) from error
        self._relay = BellRelay(lambda: connect(url, durability), self._on_bells)

    async def write(self, work: Callable[[Tx], T]) -> T:
        self._require_open()
        try:
            return await self._workers.do(partial(self._write, work))
        except BaseException:
            # The transaction may have drawn numbers that readers of the feed wait for.
            self._bells[FEED].ring()
            raise

    async def read(self, work: Callable[[Tx], T]) -> T:
        self._require_open()
        return await self._workers.do(partial(self._read, work))

    def _long_read(self, work: Callable[[LongTx], T], feed: bool, statements: Statements, deadline: Deadline) -> T:
        now = self._clock.now_ms()
        tx = LongPostgresTx(statements, now, self._ids, self._chance, self._horizon, self._observers)
        tx.deadline = deadline
        milliseconds = {"milliseconds": str(max(1, int(deadline.seconds_left * 1000)))}
        try:
            with deadline.cancelled_by(lambda: _cancel(statements.connection)):
                tx.settled = self._horizon.look(statements) if feed else self._horizon.settled
                try:
                    statements.add("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", {})
                    statements.add("SELECT set_config('statement_timeout', :milliseconds, true)", milliseconds)
                    return work(tx)
                finally:
                    statements.end()
        except psycopg.errors.QueryCanceled:
            raise deadline.refusal() from None
        except psycopg.OperationalError as error:
            raise _unavailable(error) from error

    def backup(self, target: Path) -> None:
        with connect(self._url, self._durability) as connection:
            copy_to_sqlite(connection, target)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # Finish accepted work first, so that the bells it rings are still announced.
        await asyncio.to_thread(self._workers.close)
        await self._close_readers()
        await asyncio.to_thread(self._relay.close)
        for connection in self._connections:
            connection.close()

    def _on_bells(self, names: set[str] | None) -> None:
        """Ring the bells that another process rang; all of them if it is not known which."""
        self._loop.call_soon_threadsafe(self._ring, names)

    def _ring(self, names: set[str] | None) -> None:
        for name in list(self._bells) if names is None else names:
            self._bells[name].ring()

    def _connection(self) -> Statements:
        held: Statements | None = getattr(self._local, "connection", None)
        if held is None or held.closed:
            connection = connect(self._url, self._durability)
            connection.execute(_NO_HANGING)
            connection.execute(_BY_INDEX)
            self._local.connection = held = Statements(connection)
            with self._connecting:
                self._connections = [one for one in self._connections if not one.closed] + [held]
        return held

    def _write(self, work: Callable[[Tx], T]) -> T:
        collided = is_cut = False
        for tries_left in reversed(range(_TRIES)):
            try:
                result = self._attempt(work)
                self.write_error = None
                return result
            except psycopg.errors.UniqueViolation:
                # Another transaction may just have written the same row; the second attempt finds it.
                if collided or not tries_left:
                    raise
                collided = True
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
                # The server has rolled the whole transaction back, so it can be repeated.
                if not tries_left:
                    raise
            except psycopg.OperationalError as error:
                held: Statements | None = getattr(self._local, "connection", None)
                if held is not None and held.closed and not held.is_answered and not is_cut:
                    # The connection was cut since its last use, so nothing was executed.
                    is_cut = True
                    continue
                unavailable = _unavailable(error)
                self.write_error = unavailable.message
                raise unavailable from error
        raise AssertionError("unreachable")

    def _attempt(self, work: Callable[[Tx], T]) -> T:
        statements = self._connection()
        statements.begin(*BEGIN)
        tx = self._tx(statements)
        callbacks: list[CommitCallback] = []
        try:
            result = work(tx)
            for bell in tx.woken.keys() & self._hooks.keys():
                callbacks += filter(None, [self._hooks[bell](tx)])
            tx.commit()
        except BaseException:
            self._loop.call_soon_threadsafe(self._finish, callbacks, set[str](), False)
            statements.end()
            raise
        # Scheduled from here, because the caller may be gone.
        self._loop.call_soon_threadsafe(self._finish, callbacks, set(tx.woken), True)
        if tx.woken:
            self._relay.announce(set(tx.woken))
        if self._statistics.is_due():
            self._workers.add(self._gather_statistics)
        return result

    def _gather_statistics(self) -> None:
        try:
            self._statistics.gather(self._connection())
        except (psycopg.Error, Refusal) as error:
            # Without statistics everything works, only slower; the next look tries again.
            log_trouble(_log, "statistics_failed", error)

    def _finish(self, callbacks: list[CommitCallback], woken: set[str], committed: bool) -> None:
        for callback in callbacks:
            callback(committed)
        self._ring(woken)

    def _read(self, work: Callable[[Tx], T]) -> T:
        try:
            connection = self._connection()
            try:
                return work(self._tx(connection))
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
                # The connection was cut since its last use; a read can be repeated.
                return work(self._tx(self._connection()))
        except psycopg.OperationalError as error:
            raise _unavailable(error) from error

    def _tx(self, statements: Statements) -> PostgresTx:
        now = self._clock.now_ms()
        return PostgresTx(statements, now, self._ids, self._chance, self._horizon, self._observers)


def _unavailable(error: Exception) -> Refusal:
    first_line = str(error).strip().partition("\n")[0]
    return Refusal(Code.STORAGE_UNAVAILABLE, f"The database does not answer ({first_line}); try again shortly.")


def _cancel(connection: Connection) -> None:
    """Cancel the statement that the connection is executing, if any."""
    # A server that cannot be reached executes nothing for us.
    with contextlib.suppress(psycopg.OperationalError):
        connection.cancel_safe(timeout=_CONNECT_SECONDS)


def _value(cursor: psycopg.Cursor[Row]) -> int:
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def schema_of(url: str) -> int:
    """Return the number of the newest migration applied to a database, 0 for an empty one."""
    try:
        with connect(url, "full") as connection:
            if connection.execute("SELECT to_regclass('schema_version')").fetchone() == (None,):
                return 0
            return _value(connection.execute("SELECT max(number) FROM schema_version"))
    except psycopg.OperationalError as error:
        raise _unavailable(error) from error


def connect(url: str, durability: str) -> Connection:
    """Open a connection in autocommit mode with our settings."""
    try:
        connection = psycopg.connect(url, autocommit=True, application_name="carrel", connect_timeout=_CONNECT_SECONDS)
    except psycopg.ProgrammingError:
        # The driver's message quotes the URL, which contains the password.
        raise Refusal(
            Code.STORAGE_UNAVAILABLE, "storage.url is not a valid PostgreSQL URL; write special characters as %XX."
        ) from None
    connection.execute(f"SET synchronous_commit TO {'on' if durability == 'full' else 'off'}")
    return connection


def migrate_postgres(connection: Connection) -> list[str]:
    """Migrate the database to this version's schema, one process at a time; return the names of the migrations."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        connection.execute("CREATE TABLE IF NOT EXISTS schema_version (number BIGINT NOT NULL)")
        row = connection.execute("SELECT max(number) FROM schema_version").fetchone()
        applied = (row[0] if row else None) or 0
        if not applied:
            connection.execute(
                "CREATE SEQUENCE ticks; CREATE FUNCTION tick() RETURNS bigint LANGUAGE sql VOLATILE "
                "AS 'SELECT nextval(''ticks'')'"
            )
        todo = pending(applied)
        for migration in todo:
            connection.execute(script_for("postgresql", migration.script))
            connection.execute("INSERT INTO schema_version VALUES (%s)", (migration.number,))
    return [migration.name for migration in todo]


class Statistics:
    """Decides when to look for tables without statistics, and gathers them."""

    def __init__(self) -> None:
        self._writes = count(1)

    def is_due(self) -> bool:
        """Count a write; True if it is time to look. Any thread may ask."""
        return not next(self._writes) % WRITES_PER_LOOK_AT_STATISTICS

    def gather(self, statements: Statements) -> list[str]:
        """Analyze tables that never were, outside a transaction; return which. Later, autovacuum does it."""
        found = statements.rows(statements.execute(_UNKNOWN, {"rows": ANALYZED_ROWS_MIN}))
        for (table,) in found:
            # Skip a table that somebody else is analyzing now.
            statements.execute(f"ANALYZE (SKIP_LOCKED) {table}", {})
        return [table for (table,) in found]
