"""Database maintenance without a server: migrate, check, back up, restore. Blocking; for the command line."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
from msgspec import Struct

from carrel.kernel import Code, Refusal
from carrel.storage.engines import sqlite_path
from carrel.storage.schema import migrations
from carrel.storage.sqlite_file import copy_file, migrate_file, open_file


def migrate(url: str) -> list[str]:
    """Apply pending migrations and return their names."""
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.postgres import connect, migrate_postgres

        with connect(url, "full") as connection:
            return migrate_postgres(connection)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(open_file(path, "full")) as file:
        return migrate_file(file)


class Examined(Struct, frozen=True):
    """The state of a database: whether it is intact, its schema, and the newest schema this version knows."""

    sound: bool
    applied: int
    known: int


def examine(url: str) -> Examined:
    """Check a database without changing it; raise Refusal if it cannot be opened."""
    known = migrations()[-1].number
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.postgres import schema_of

        return Examined(True, schema_of(url), known)
    if not path.exists():
        raise Refusal(Code.NOT_FOUND, f"There is no database at {path} yet; the first start creates it.")
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as file:
            sound = next(iter(file.execute("PRAGMA quick_check")))[0] == "ok"
            return Examined(sound, next(iter(file.execute("PRAGMA user_version")))[0], known)
    except apsw.Error as error:
        raise Refusal(Code.STORAGE_UNAVAILABLE, f"{path} cannot be read ({error}).") from error


def back_up(url: str, target: Path) -> None:
    """Write a consistent copy of the database to a new SQLite file, even while a server uses it."""
    if target.exists():
        raise Refusal(Code.CONFLICT, f"{target} already exists; choose a new file.")
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
            Code.NOT_FOUND, f"There is no database at {path}; start the server once, or give its data directory."
        )


def restore(source: Path, url: str) -> None:
    """Restore a backup into an empty database; refuse one that already has accounts."""
    check_backup(source)
    path = sqlite_path(url)
    if path is None:
        from carrel.storage.backup import copy_from_sqlite
        from carrel.storage.postgres import connect

        migrate(url)
        with connect(url, "full") as connection, TemporaryDirectory() as folder:
            if connection.execute("SELECT 1 FROM accounts LIMIT 1").fetchone():
                raise Refusal(Code.CONFLICT, "The target database already has accounts; restore into an empty one.")
            # An older backup is copied and the copy migrated, so that the file itself stays unchanged.
            migrated = Path(folder) / "carrel.db"
            copy_file(source, migrated)
            migrate(f"sqlite:///{migrated}")
            copy_from_sqlite(migrated, connection)
    elif path.exists():
        raise Refusal(Code.CONFLICT, f"{path} already exists; move it away first.")
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_file(source, path)


def check_backup(source: Path) -> None:
    """Refuse a file that is not an intact backup of Carrel."""
    if not source.is_file():
        raise Refusal(Code.NOT_FOUND, f"There is no file {source}.")
    found = examine(f"sqlite:///{source}")
    if not found.sound or not found.applied:
        raise Refusal(Code.INVALID_PARAMS, f"{source} is damaged or not a backup of Carrel.")
