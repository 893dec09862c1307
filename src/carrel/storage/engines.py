"""Opening a store by its address."""

from pathlib import Path

import apsw

from carrel.kernel import Chance, Clock, Code, Ids, Refusal, SystemClock, system_chance
from carrel.storage.database import Database
from carrel.storage.sqlite import SqliteDatabase

_SQLITE = "sqlite:///"
# What the file itself can be to blame for; whatever else goes wrong is ours.
_UNUSABLE = (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError)
_POSTGRES = ("postgresql://", "postgres://")


def sqlite_path(url: str) -> Path | None:
    """The file behind an SQLite address, None for another engine."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


def open_database(
    url: str, *, durability: str = "full", clock: Clock | None = None, chance: Chance | None = None
) -> Database:
    """Open, and where needed make and migrate, the store at `url`. Call it on the loop that will use it."""
    clock, chance = clock or SystemClock(), chance or system_chance()
    ids = Ids(clock, chance)
    path = sqlite_path(url)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return SqliteDatabase(path, durability=durability, clock=clock, ids=ids, chance=chance)
        except _UNUSABLE as error:
            raise Refusal(
                Code.STORAGE_UNAVAILABLE,
                f"Cannot use {path} as a database ({error}); restore a backup, or name another.",
            ) from error
    if url.startswith(_POSTGRES):
        # Imported here: the driver is an extra that a single machine does without.
        try:
            from carrel.storage.postgres import PostgresDatabase
        except ImportError as error:
            raise Refusal(
                Code.STORAGE_UNAVAILABLE, "PostgreSQL needs the extra carrel[postgres]; install it first."
            ) from error
        return PostgresDatabase(url, durability=durability, clock=clock, ids=ids, chance=chance)
    raise Refusal(Code.STORAGE_UNAVAILABLE, "storage.url must begin sqlite:/// or postgresql://")
