"""SQLite files: opening, migrating and copying them, readable only by their owner."""

import os
from contextlib import closing, suppress
from pathlib import Path

import apsw

from carrel.storage.dialect import schema_for_sqlite
from carrel.storage.schema import pending


def make_private(path: Path) -> None:
    """Create a file that only its owner can read, or make an existing one and SQLite's files beside it private."""
    # An existing file must not be opened: closing it would release the locks that SQLite holds on it.
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
        # Somebody else's file cannot be changed; SQLite will say whether it can be used.
        with suppress(OSError):
            path.with_name(name).chmod(0o600)


def open_file(path: Path, durability: str) -> apsw.Connection:
    """Open a connection with our settings; only the owner can read the file and SQLite's files beside it."""
    make_private(path)
    connection = apsw.Connection(str(path), statementcachesize=256)
    connection.set_busy_timeout(10_000)
    # Otherwise every statement that could use a partial index is planned again when its values change.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-16000")
    connection.execute("PRAGMA journal_size_limit=67108864")
    # In pages. A checkpoint syncs the whole file; with the default, a busy lane caused one every hundred commits.
    connection.execute("PRAGMA wal_autocheckpoint=8000")
    return connection


def migrate_file(connection: apsw.Connection) -> list[str]:
    """Migrate the file to this version's schema; return the names of the migrations applied."""
    connection.execute("BEGIN IMMEDIATE")
    applied = next(iter(connection.execute("PRAGMA user_version")))[0]
    try:
        if not applied:
            connection.execute("CREATE TABLE ticks (value INTEGER NOT NULL) STRICT; INSERT INTO ticks VALUES (0)")
        todo = pending(applied)
        for migration in todo:
            connection.execute(schema_for_sqlite(migration.script))
            connection.execute(f"PRAGMA user_version={migration.number}")
        if todo and (broken := connection.execute("PRAGMA foreign_key_check").fetchone()):
            raise apsw.ConstraintError(f"a row of {broken[0]} refers to a row of {broken[2]} that does not exist")
        connection.execute("COMMIT")
    except BaseException:
        # On a full disk, SQLite has ended the transaction itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return [migration.name for migration in todo]


def copy_file(source: Path, target: Path) -> None:
    """Write a consistent copy of a file in use."""
    make_private(target)
    opened = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)
    with closing(opened) as reading, closing(apsw.Connection(str(target))) as writing:
        with writing.backup("main", reading, "main") as copying:
            while not copying.done:
                # Page by page, every write would restart the copy; a single step only holds a read lock.
                copying.step(-1)
        writing.execute("PRAGMA journal_mode=DELETE")
