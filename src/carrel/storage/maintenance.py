"""Upkeep of a store without a server: migrate, back up, restore. Blocking; for the command line."""

from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
from msgspec import Struct

from carrel.kernel import Code, Refusal
from carrel.storage.engines import sqlite_path
from carrel.storage.schema import migrations
from carrel.storage.sqlite import copy_file, migrate_file, open_file


def migrate(url: str) -> list[str]:
    """Apply what is pending; the names of the migrations applied."""
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.postgres import connect, migrate_postgres

        with connect(url, "full") as connection:
            return migrate_postgres(connection)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open_file(path, "full")
    try:
        return migrate_file(file)
    finally:
        file.close()


class Examined(Struct, frozen=True):
    """How a store stands: whether it is sound, its schema, and the newest one this version knows."""

    sound: bool
    applied: int
    known: int


def examine(url: str) -> Examined:
    """Look at a store without changing it; Refusal when it cannot be opened."""
    known = migrations()[-1].number
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.postgres import schema_of

        return Examined(True, schema_of(url), known)
    if not path.exists():
        raise Refusal(Code.NOT_FOUND, f"There is no database at {path} yet; the first start makes it.")
    try:
        file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            sound = next(iter(file.execute("PRAGMA quick_check")))[0] == "ok"
            return Examined(sound, next(iter(file.execute("PRAGMA user_version")))[0], known)
        finally:
            file.close()
    except apsw.Error as error:
        raise Refusal(Code.STORAGE_UNAVAILABLE, f"{path} cannot be read ({error}).") from error


def back_up(url: str, target: Path) -> None:
    """Write a consistent copy of the store to a new SQLite file, while a server may be working on it."""
    if target.exists():
        raise Refusal(Code.CONFLICT, f"{target} is already there; name a new file.")
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.backup import copy_to_sqlite
        from carrel.storage.postgres import connect

        with connect(url, "full") as connection:
            copy_to_sqlite(connection, target)
    elif path.exists():
        copy_file(path, target)
    else:
        raise Refusal(
            Code.NOT_FOUND, f"There is no database at {path}; start a server once, or name its data directory."
        )


def restore(source: Path, url: str) -> None:
    """Fill an empty store from a backup file; refuses one that already holds accounts."""
    check_backup(source)
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.backup import copy_from_sqlite
        from carrel.storage.postgres import connect

        migrate(url)
        with connect(url, "full") as connection, TemporaryDirectory() as folder:
            if connection.execute("SELECT 1 FROM accounts LIMIT 1").fetchone():
                raise Refusal(Code.CONFLICT, "The target database already holds accounts; restore into an empty one.")
            # An older backup is brought to this version's schema first, and the file itself stays as it is.
            present = Path(folder) / "carrel.db"
            copy_file(source, present)
            migrate(f"sqlite:///{present}")
            copy_from_sqlite(present, connection)
    elif path.exists():
        raise Refusal(Code.CONFLICT, f"{path} is already there; move it away first.")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_file(source, path)


def check_backup(source: Path) -> None:
    """Refuse a file that is no sound backup of ours."""
    if not source.is_file():
        raise Refusal(Code.NOT_FOUND, f"There is no file {source}.")
    found = examine(f"sqlite:///{source}")
    if not found.sound or not found.applied:
        raise Refusal(Code.INVALID_PARAMS, f"{source} is damaged or no backup of Carrel.")
