"""Copying between the engines: a backup is always a SQLite file with the same schema."""

from pathlib import Path
from typing import Any

import apsw
import psycopg

from carrel.storage.sqlite import migrate_file, open_file

_ROWS_AT_A_TIME = 1_000


def copy_to_sqlite(source: "psycopg.Connection[Any]", target: Path) -> None:
    """Write a consistent snapshot of every table into a new SQLite file."""
    writing = open_file(target, "full")
    try:
        migrate_file(writing)
        tables = table_names(writing)
        writing.execute("PRAGMA foreign_keys=OFF")
        source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        writing.execute("BEGIN")
        for table in tables:
            _copy_table_out(source, writing, table)
        newest = source.execute("SELECT last_value FROM ticks").fetchone()
        writing.execute("UPDATE ticks SET value = ?", newest)
        writing.execute("COMMIT")
        source.execute("COMMIT")
        writing.execute("PRAGMA journal_mode=DELETE")
    finally:
        writing.close()


def copy_from_sqlite(source: Path, target: "psycopg.Connection[Any]") -> None:
    """Fill an empty, migrated PostgreSQL database from a backup file, in one transaction."""
    reading = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with target.transaction():
            for table in table_names(reading):
                columns = _columns(reading, table)
                with target.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copying:
                    for row in reading.execute(f"SELECT {', '.join(columns)} FROM {table}"):
                        copying.write_row(row)
            newest = next(iter(reading.execute("SELECT value FROM ticks")))[0]
            target.execute("SELECT setval('ticks', %s)", (max(1, newest),))
    finally:
        reading.close()


def table_names(connection: apsw.Connection) -> list[str]:
    """Return our tables in the order of their creation, which satisfies their references."""
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    )
    return [str(name) for (name,) in found if name != "ticks"]


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def _copy_table_out(source: "psycopg.Connection[Any]", writing: apsw.Connection, table: str) -> None:
    columns = _columns(writing, table)
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    with source.cursor(name=f"copy_{table}") as cursor:
        cursor.itersize = _ROWS_AT_A_TIME
        cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
        writing.executemany(insert, cursor)
