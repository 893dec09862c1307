"""The SQL of rebuilding: which parts of the index, and their progress."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Tx


class Rebuild(Struct, frozen=True):
    """The rebuilding of one part of an account's index, up to `cursor`; it replaces what is older than `version`.

    A part is `topic`, `task` or `entry` for all of them, or `topic:<id>` for one with what belongs to it.
    """

    account_id: str
    part: str
    cursor: str
    version: int


def request(tx: Tx, access: Access, part: str) -> None:
    """Begin, or begin anew."""
    sql = (
        "INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) "
        "VALUES (:account, :part, '', tick(), :now) ON CONFLICT (account_id, part) "
        "DO UPDATE SET cursor = '', version = excluded.version, requested_at = excluded.requested_at"
    )
    tx.run(sql, access, part=part, now=tx.now)


def rebuilds_due(tx: Tx, limit: int) -> list[Rebuild]:
    """Return rebuilds that are not finished, the oldest first."""
    sql = (
        "SELECT account_id, part, cursor, version FROM search_rebuilds "
        "ORDER BY requested_at, account_id, part LIMIT :limit"
    )
    return [Rebuild(*row) for row in tx.all(sql, limit=limit)]


def advance(tx: Tx, access: Access, rebuild: Rebuild, cursor: str) -> bool:
    """Move past a page; False, with nothing written, if another server already did."""
    sql = (
        "UPDATE search_rebuilds SET cursor = :cursor WHERE account_id = :account AND part = :part "
        "AND cursor = :before AND version = :version"
    )
    held = {"part": rebuild.part, "before": rebuild.cursor, "version": rebuild.version}
    return tx.run(sql, access, cursor=cursor, **held) > 0


def finish(tx: Tx, access: Access, rebuild: Rebuild) -> None:
    """End it, unless it was begun anew."""
    sql = (
        "DELETE FROM search_rebuilds WHERE account_id = :account AND part = :part AND cursor = :before "
        "AND version = :version"
    )
    tx.run(sql, access, part=rebuild.part, before=rebuild.cursor, version=rebuild.version)


def oldest_rebuild(tx: Tx, access: Access) -> tuple[int, int | None]:
    """Return how many parts of an account's index are being rebuilt, and the age of the oldest."""
    row = tx.one("SELECT count(*), min(requested_at) FROM search_rebuilds WHERE account_id = :account", access)
    assert row is not None, "a count always has a row"
    return row[0], row[1]


def is_rebuilding(tx: Tx, access: Access) -> bool:
    """Return whether a part of an account's index is being rebuilt and may be incomplete."""
    return tx.one("SELECT 1 FROM search_rebuilds WHERE account_id = :account", access) is not None
