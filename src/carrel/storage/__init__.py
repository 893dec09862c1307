"""The only room that opens a database: transactions, migrations, bells, backup. It knows no table by name."""

from carrel.storage.bells import FEED, Bell
from carrel.storage.database import CommitCallback, Database, LongTx, Row, Tx
from carrel.storage.duties import Due, Duty, LeasedDuty, StepDuty, duty_reports, repeat
from carrel.storage.engines import open_database, sqlite_path
from carrel.storage.maintenance import back_up, examine, migrate, restore
from carrel.storage.schema import NewerSchema, applied_schema, database_bytes, migrations
from carrel.storage.table import FLAG, Condition, Table, in_list, json_column, padded

__all__ = [
    "FEED", "FLAG", "Bell", "CommitCallback", "Condition", "Database", "Due", "Duty", "LeasedDuty", "LongTx",
    "NewerSchema", "Row", "StepDuty", "Table", "Tx", "applied_schema", "back_up", "database_bytes", "duty_reports",
    "examine", "in_list", "json_column", "migrate", "migrations", "open_database", "padded", "repeat", "restore",
    "sqlite_path",
]  # fmt: skip
