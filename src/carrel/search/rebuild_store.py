"""The SQL of rebuilding: how far the index of each account has come."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Tx


class Rebuild(Struct, frozen=True):
    """The rebuilding of one account's index, up to the entry `cursor`; older than `version` is what it replaces."""

    account_id: str
    cursor: int
    version: int


def request(tx: Tx, access: Access) -> None:
    """Begin, or begin anew."""
    sql = (
        "INSERT INTO search_rebuilds (account_id, cursor, version, requested_at) VALUES (:account, 0, tick(), :now) "
        "ON CONFLICT (account_id) DO UPDATE SET cursor = 0, version = excluded.version, requested_at = :now"
    )
    tx.run(sql, access, now=tx.now)


def rebuilds_due(tx: Tx, limit: int) -> list[Rebuild]:
    """Return rebuilds that are not finished, the oldest first."""
    sql = "SELECT account_id, cursor, version FROM search_rebuilds ORDER BY requested_at, account_id LIMIT :limit"
    return [Rebuild(*row) for row in tx.all(sql, limit=limit)]


def advance(tx: Tx, access: Access, rebuild: Rebuild, cursor: int) -> bool:
    """Move past a page; False, with nothing written, when another server has."""
    sql = (
        "UPDATE search_rebuilds SET cursor = :cursor WHERE account_id = :account AND cursor = :before "
        "AND version = :version"
    )
    return tx.run(sql, access, cursor=cursor, before=rebuild.cursor, version=rebuild.version) > 0


def finish(tx: Tx, access: Access, rebuild: Rebuild) -> None:
    """End it, unless it was begun anew."""
    sql = "DELETE FROM search_rebuilds WHERE account_id = :account AND cursor = :before AND version = :version"
    tx.run(sql, access, before=rebuild.cursor, version=rebuild.version)


def is_rebuilding(tx: Tx, access: Access) -> bool:
    """Return whether the index of an account is being rebuilt, so that it may lack what is older than the feed."""
    return tx.one("SELECT 1 FROM search_rebuilds WHERE account_id = :account", access) is not None
