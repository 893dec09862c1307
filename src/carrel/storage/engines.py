"""Opening a database by its URL."""

from pathlib import Path
from shutil import disk_usage

import apsw

from carrel.kernel import Chance, Clock, Code, Ids, Refusal, SystemClock, system_chance
from carrel.storage.database import Database
from carrel.storage.sqlite import SqliteDatabase

_SQLITE = "sqlite:///"
# Errors caused by the file; any other error is a bug.
_UNUSABLE = (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError)
# With less free space on its disk, SQLite cannot even begin, and reports a different error.
_ROOM_BYTES_MIN = 64 * 1024
_POSTGRES = ("postgresql://", "postgres://")


def sqlite_path(url: str) -> Path | None:
    """Return the file of an SQLite URL, or None for another engine."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


def open_database(
    url: str, *, durability: str = "full", clock: Clock | None = None, chance: Chance | None = None
) -> Database:
    """Open the database at `url`, creating and migrating it if needed. Call it on the loop that will use it."""
    clock, chance = clock or SystemClock(), chance or system_chance()
    ids = Ids(clock, chance)
    path = sqlite_path(url)
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return SqliteDatabase(path, durability=durability, clock=clock, ids=ids, chance=chance)
        except _UNUSABLE as error:
            is_full = isinstance(error, apsw.FullError) or disk_usage(path.parent).free < _ROOM_BYTES_MIN
            advice = "its disk is full, so free some space" if is_full else "restore a backup or choose another file"
            raise Refusal(Code.STORAGE_UNAVAILABLE, f"Cannot use {path} as a database ({error}); {advice}.") from error
    if url.startswith(_POSTGRES):
        # Imported here because the driver is optional.
        try:
            from carrel.storage.postgres import PostgresDatabase
        except ImportError as error:
            raise Refusal(
                Code.STORAGE_UNAVAILABLE, "PostgreSQL needs an extra; install carrel[postgres] first."
            ) from error
        return PostgresDatabase(url, durability=durability, clock=clock, ids=ids, chance=chance)
    raise Refusal(Code.STORAGE_UNAVAILABLE, "storage.url must start with sqlite:/// or postgresql://.")
