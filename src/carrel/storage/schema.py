"""Migrations: numbered SQL scripts, forward only, each applied once, in a transaction."""

from functools import cache
from importlib import resources

from msgspec import Struct

from carrel.storage.database import Tx

_APPLIED = {"sqlite": "PRAGMA user_version", "postgresql": "SELECT max(number) FROM schema_version"}


class Migration(Struct, frozen=True):
    """One step of the schema."""

    number: int
    name: str
    script: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Return every migration that this version knows, in order; read once."""
    folder = resources.files("carrel.storage") / "migrations"
    found = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return tuple(
        Migration(int(name.partition("_")[0]), name.removesuffix(".sql"), (folder / name).read_text("utf-8"))
        for name in found
    )


def database_bytes(tx: Tx, engine: str) -> int:
    """Return the size of the database, all accounts included."""
    file = "SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s"
    row = tx.one(file if engine == "sqlite" else "SELECT pg_database_size(current_database())")
    return int(row[0]) if row else 0


def applied_schema(tx: Tx, engine: str) -> int:
    """Return the number of the newest applied migration of an open store."""
    row = tx.one(_APPLIED[engine])
    return row[0] if row else 0


class NewerSchema(Exception):
    """The database was written by a newer version of Carrel."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"This database has schema {found}, but this version of Carrel knows schemas up to {known}. "
            "Start the newer version, or restore a backup made by this one."
        )


def pending(applied: int) -> list[Migration]:
    """Return the migrations that a database at schema `applied` still needs."""
    known = migrations()
    if applied > known[-1].number:
        raise NewerSchema(applied, known[-1].number)
    return [migration for migration in known if migration.number > applied]
