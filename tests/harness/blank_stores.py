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
# PostgreSQL itself would look every 100 ms whether they have ended.
END_OTHERS = f"""
SET statement_timeout = {SECONDS_MAX * 1000};
DO $$ BEGIN
  WHILE 0 < (
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
  ) LOOP
    PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
  END LOOP;
END $$
"""
EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE name text; BEGIN
  FOR name IN
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
      AND relname <> 'schema_version' AND pg_relation_size(oid) > 0
  LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
  -- Otherwise the next test may see this one's rows counted.
  PERFORM pg_stat_force_next_flush();
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
        # What each database was before any test, and our own connection to it, which outlives the tests.
        self._schemas: dict[str, object] = {}
        self._connections: dict[str, psycopg.Connection] = {}

    def take(self) -> str:
        """Return the URL of a blank database that nobody else uses."""
        if self._free:
            return self._free.pop()
        url = self._server.create_database()
        migrate(url)
        connection = self._connections[url] = psycopg.connect(url, autocommit=True)
        self._schemas[url] = connection.execute(SCHEMA).fetchone()
        return url

    def give_back(self, url: str) -> None:
        """Take a database back, whatever was done to it."""
        if self._was_emptied(url):
            self._free.append(url)
        else:
            self._connections.pop(url).close()
            self._server.drop_database(url)

    def _was_emptied(self, url: str) -> bool:
        connection = self._connections[url]
        try:
            connection.execute(END_OTHERS.encode())
            if connection.execute(SCHEMA).fetchone() != self._schemas[url]:
                return False
            connection.execute(EMPTY.encode())
        except psycopg.Error:
            # A test may have dropped the database or a part of it, or have ended our connection.
            return False
        return True

    def close(self) -> None:
        """Close our connections."""
        for connection in self._connections.values():
            connection.close()
