"""The only room that opens a database: transactions, migrations, bells, backup. It knows no table by name."""

from carrel.storage.bells import FEED, RUNS, STOPS, Bell
from carrel.storage.database import Database, Row, Tx
from carrel.storage.migrating import NewerSchema, migrations
from carrel.storage.opening import open_database, sqlite_path
from carrel.storage.upkeep import back_up, migrate, restore

__all__ = [
    "FEED",
    "RUNS",
    "STOPS",
    "Bell",
    "Database",
    "NewerSchema",
    "Row",
    "Tx",
    "back_up",
    "migrate",
    "migrations",
    "open_database",
    "restore",
    "sqlite_path",
]
