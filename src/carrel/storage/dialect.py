"""The few words in which the two engines differ. SQL is written for PostgreSQL; this makes SQLite's of it."""

import re
from functools import lru_cache

_LOCKS = re.compile(r"\s+FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?")
_NAMED = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)\b")
_TABLE_END = re.compile(r"^\);$", re.MULTILINE)


@lru_cache(maxsize=4096)
def for_sqlite(sql: str) -> str:
    """Row locks fall away: one writer holds the whole store anyway."""
    return _LOCKS.sub("", sql)


@lru_cache(maxsize=4096)
def for_postgres(sql: str) -> str:
    """Parameters in the driver's spelling."""
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%"))


def schema_for_sqlite(script: str) -> str:
    """A migration with SQLite's types; STRICT, so that a wrong type is refused there as well."""
    script = script.replace("BIGINT", "INTEGER").replace("DOUBLE PRECISION", "REAL").replace("BYTEA", "BLOB")
    return _TABLE_END.sub(") STRICT;", script)
