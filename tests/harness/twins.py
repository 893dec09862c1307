"""Twins: an account with the same keys, slugs and ids as another, so that nothing but the account tells them apart."""

import functools
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any

import apsw

from carrel.kernel import Access
from carrel.storage import Tx
from carrel.storage.sqlite_file import migrate_file

Values = dict[str, Any]


@functools.cache
def tables() -> dict[str, dict[str, str]]:
    """The types of the columns of every table that belongs to accounts, in the order of their references."""
    connection = apsw.Connection(":memory:")
    migrate_file(connection)
    sql = (
        "SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' "
        "ORDER BY m.rowid, c.cid"
    )
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in connection.execute(sql):
        found.setdefault(table, {})[column] = kind
    referenced = 'SELECT m.name, f."table" FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f'
    before: dict[str, set[str]] = {table: set() for table in found}
    for table, other in connection.execute(referenced):
        before[table] |= {other} - {table}
    return {table: found[table] for table in TopologicalSorter(before).static_order() if "account_id" in found[table]}


def rows_of(tx: Tx, access: Access, table: str) -> list[Values]:
    """Every row of an account in one table."""
    columns = tables()[table]
    rows = tx.all(f"SELECT {', '.join(columns)} FROM {table} WHERE account_id = :account", access)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def every_row(tx: Tx, access: Access) -> list[Values]:
    """Every row of an account."""
    return [row for table in tables() for row in rows_of(tx, access, table)]


def copy_rows(tx: Tx, source: Access, target: Access, changed: Callable[[str, Any], Any]) -> None:
    """Give an account every row of another that it does not have; `changed` turns a column's value into the twin's."""
    for table, columns in tables().items():
        names = ", ".join(f":{column}" for column in columns)
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({names}) ON CONFLICT DO NOTHING"
        for row in rows_of(tx, source, table):
            twin = {column: changed(column, value) for column, value in row.items()}
            # A secret leads to one account alone.
            only = {name: f"twin of {row[name]}" for name in ("secret_sha256",) if name in row}
            tx.run(sql, **twin | only | {"account_id": target.account_id})


def remove_rows(tx: Tx, access: Access) -> None:
    """Remove every row of an account."""
    for table in reversed(tables()):
        tx.run(f"DELETE FROM {table} WHERE account_id = :account", access)
