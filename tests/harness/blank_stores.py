"""Stores with the newest schema and nothing in them, at a fraction of what it costs to migrate one for every test."""

import functools
import tempfile
from pathlib import Path

import psycopg

from carrel.storage import migrate
from tests.postgres import PostgresServer

SECONDS_MAX = 5
# What a migration made: a test that changed any of it leaves a database that no other test may get.
SCHEMA = """
SELECT (SELECT array_agg(oid ORDER BY oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT count(*) FROM pg_attribute WHERE NOT attisdropped), (SELECT count(*) FROM pg_constraint),
  (SELECT count(*) FROM pg_trigger WHERE tgenabled = 'O'), (SELECT count(*) FROM pg_proc),
  (SELECT array_agg(number ORDER BY number) FROM schema_version)
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
END $$;
ALTER SEQUENCE ticks RESTART;
"""


def blank_sqlite(folder: Path) -> str:
    """Write a blank store to a folder and return its URL."""
    file = folder / "carrel.db"
    file.touch(mode=0o600)
    file.write_bytes(_migrated_file())
    return f"sqlite:///{file}"


@functools.cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="carrel-blank-") as folder:
        file = Path(folder) / "carrel.db"
        migrate(f"sqlite:///{file}")
        return file.read_bytes()


class BlankDatabases:
    """Blank databases of a PostgreSQL server; one that is given back is emptied and used again."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._free: list[str] = []
        self._schemas: dict[str, object] = {}

    def take(self) -> str:
        """Return the URL of a blank database that nobody else uses."""
        if self._free:
            return self._free.pop()
        url = self._server.create_database()
        migrate(url)
        with psycopg.connect(url) as connection:
            self._schemas[url] = connection.execute(SCHEMA).fetchone()
        return url

    def give_back(self, url: str) -> None:
        """Take a database back, whatever was done to it."""
        if self._was_emptied(url):
            self._free.append(url)
        else:
            self._server.drop_database(url)

    def _was_emptied(self, url: str) -> bool:
        try:
            with psycopg.connect(url) as connection:
                connection.execute(END_OTHERS, (SECONDS_MAX * 1000,))
                if connection.execute(SCHEMA).fetchone() != self._schemas[url]:
                    return False
                connection.execute(EMPTY.encode())
        except psycopg.Error:
            # A test may have dropped the database or a part of it.
            return False
        return True
