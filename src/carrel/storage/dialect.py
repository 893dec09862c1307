"""Translation between SQL dialects: SQL is written for PostgreSQL and translated for SQLite here."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

Values = Mapping[str, object]
_LOCKS = re.compile(r"\s+FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?")
_NAMED = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)\b")
# How many rows one INSERT takes.
_ROWS_MAX = 8
_TABLE_END = re.compile(r"^\);( -- clustered)?$", re.MULTILINE)
_ADDED_KEY = re.compile(r"^ALTER TABLE (\w+) ADD (FOREIGN KEY .*);$", re.MULTILINE)
# SQLite cannot add a foreign key to a table. Its manual says to rewrite the table's SQL if the rows stay valid.
_KEY_IN_TEXT = r"""
PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET sql = replace(sql, char(10) || ') STRICT', ', \2' || char(10) || ') STRICT')
    WHERE type = 'table' AND name = '\1';
PRAGMA writable_schema=RESET;
"""


@lru_cache(maxsize=4096)
def for_sqlite(sql: str) -> tuple[str, Callable[[Values], Sequence[object]]]:
    """Return the SQL for SQLite and a function that puts named values into its order.

    Row locks are dropped: there is only one writer. Parameters are numbered because the driver looks up every name at
    every execution, and a run binds about a hundred values.
    """
    return _numbered(_LOCKS.sub("", sql), "?")


@lru_cache(maxsize=4096)
def for_postgres(sql: str) -> tuple[bytes, Callable[[Values], Sequence[object]]]:
    """Return the SQL as sent to PostgreSQL and a function that puts named values into its order."""
    numbered, ordered = _numbered(sql, "$")
    return numbered.encode(), ordered


def _numbered(sql: str, sign: str) -> tuple[str, Callable[[Values], Sequence[object]]]:
    names = list(dict.fromkeys(_NAMED.findall(sql)))
    numbered = _NAMED.sub(lambda found: f"{sign}{names.index(found[1]) + 1}", sql)
    return numbered, itemgetter(*names) if len(names) > 1 else lambda values: [values[name] for name in names]


def join_rows(sql: str, rows: list[dict[str, object]]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the statements that write these rows: several rows in one INSERT, each row by itself for any other SQL."""
    # An upsert must not meet the same row twice in one statement.
    rows_max = _ROWS_MAX if " VALUES " in sql and "ON CONFLICT" not in sql else 1
    while rows:
        # Powers of two, so that few different statements are prepared.
        count = min(rows_max, 1 << (len(rows).bit_length() - 1))
        few, rows = rows[:count], rows[count:]
        if count == 1:
            yield sql, few[0]
        else:
            values = {f"{name}_{at}": value for at, row in enumerate(few) for name, value in row.items()}
            yield _insert_of(sql, count), values


@lru_cache(maxsize=256)
def _insert_of(sql: str, count: int) -> str:
    """Return the INSERT of one row as one of several rows; the names in row n end with _n."""
    head, _, row = sql.partition(" VALUES ")
    rows = (_NAMED.sub(rf":\1_{at}", row) for at in range(count))
    return f"{head} VALUES {', '.join(rows)}"


def script_for(engine: str, script: str) -> str:
    """Return a migration in which the lines for the other engine are comments."""
    return re.sub(rf"^-- {engine}: ", "", script, flags=re.MULTILINE)


def schema_for_sqlite(script: str) -> str:
    """Return a migration with SQLite's types; STRICT, so that SQLite rejects wrong types too.

    The caller must check foreign keys: SQLite does not check existing rows against an added one.
    """
    script = script_for("sqlite", script)
    script = script.replace("BIGINT", "INTEGER").replace("DOUBLE PRECISION", "REAL").replace("BYTEA", "BLOB")
    script = _ADDED_KEY.sub(_KEY_IN_TEXT, script)
    return _TABLE_END.sub(lambda end: ") STRICT, WITHOUT ROWID;" if end[1] else ") STRICT;", script)
