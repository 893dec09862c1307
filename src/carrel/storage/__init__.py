"""The only room that opens a database: transactions, migrations, bells, backup. It knows no table by name."""

from carrel.storage.bells import EXCHANGES, FEED, LEFTOVERS, POSTS, RUNS, SCHEDULES, STOPS, WEBHOOKS, Bell
from carrel.storage.database import Database, Landing, Row, Tx
from carrel.storage.migrating import NewerSchema, migrations
from carrel.storage.opening import open_database, sqlite_path
from carrel.storage.upkeep import back_up, examine, migrate, restore

__all__ = [
    "EXCHANGES",
    "FEED",
    "LEFTOVERS",
    "POSTS",
    "RUNS",
    "SCHEDULES",
    "STOPS",
    "WEBHOOKS",
    "Bell",
    "Database",
    "Landing",
    "NewerSchema",
    "Row",
    "Tx",
    "back_up",
    "examine",
    "migrate",
    "migrations",
    "open_database",
    "restore",
    "sqlite_path",
]
