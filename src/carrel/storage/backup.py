"""Copying between the engines: a backup is always a SQLite file with the same schema."""

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
from psycopg import sql

from carrel.kernel import Code, Refusal
from carrel.storage.sqlite_file import migrate_file, open_file

_ROWS_AT_A_TIME = 1_000


def copy_to_sqlite(source: "psycopg.Connection[Any]", target: Path) -> None:
    """Write a consistent snapshot of every table into a new SQLite file."""
    with closing(open_file(target, "full")) as writing:
        migrate_file(writing)
        writing.execute("PRAGMA foreign_keys=OFF")
        source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        writing.execute("BEGIN")
        for table, columns in schema_in(writing).items():
            _copy_table_out(source, writing, table, columns)
        newest = source.execute("SELECT last_value FROM ticks").fetchone()
        writing.execute("UPDATE ticks SET value = ?", newest)
        writing.execute("COMMIT")
        source.execute("COMMIT")
        writing.execute("PRAGMA journal_mode=DELETE")


def copy_from_sqlite(source: Path, target: "psycopg.Connection[Any]") -> None:
    """Fill an empty, migrated PostgreSQL database from a backup file, in one transaction.

    A file whose tables or columns differ from ours is refused, because it is no backup of this schema.
    """
    with closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)) as reading:
        ours = own_schema()
        if schema_in(reading) != ours:
            raise Refusal(Code.INVALID_PARAMS, f"{source.name} has other tables or columns than a backup of Carrel.")
        with target.transaction():
            for table, columns in ours.items():
                names = sql.SQL(", ").join(map(sql.Identifier, columns))
                copy = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
                with target.cursor().copy(copy) as copying:
                    for row in reading.execute(f"SELECT {', '.join(columns)} FROM {table}"):
                        copying.write_row(row)
            newest = next(iter(reading.execute("SELECT value FROM ticks")))[0]
            target.execute("SELECT setval('ticks', %s)", (max(1, newest),))


def own_schema() -> dict[str, list[str]]:
    """Return the columns of our tables in creation order, which satisfies their foreign keys."""
    with closing(apsw.Connection(":memory:")) as connection:
        migrate_file(connection)
        return schema_in(connection)


def schema_in(connection: apsw.Connection) -> dict[str, list[str]]:
    """Return the columns of a file's tables and views in creation order."""
    found = connection.execute(
        # Neither the virtual tables of indexes nor the tables behind them: triggers fill these.
        "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_list t ON t.schema = 'main' AND t.name = m.name "
        "AND t.type IN ('table', 'view') JOIN pragma_table_info(m.name) c "
        "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.name <> 'ticks' "
        "ORDER BY m.rowid, c.cid"
    )
    schema: dict[str, list[str]] = {}
    for table, column in found:
        schema.setdefault(table, []).append(column)
    return schema


def _copy_table_out(
    source: "psycopg.Connection[Any]", writing: apsw.Connection, table: str, columns: list[str]
) -> None:
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    with source.cursor(name=f"copy_{table}") as cursor:
        cursor.itersize = _ROWS_AT_A_TIME
        cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
        writing.executemany(insert, cursor)
