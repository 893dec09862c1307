"""The SQL of a lane's runs seen together: their order, what came with their messages, and their removal."""

import msgspec

from carrel.kernel import Access
from carrel.storage import Tx

_ids = msgspec.json.Decoder(list[str]).decode


def queue_order(tx: Tx, access: Access, key: str) -> dict[str, int]:
    """The place of every queued run of a lane, 1 for the next."""
    rows = tx.all(
        "SELECT id FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' ORDER BY seq",
        account=access.account_id,
        key=key,
    )
    return {row[0]: place for place, row in enumerate(rows, 1)}


def newest_end(tx: Tx, access: Access, key: str) -> str | None:
    """The state in which the newest ended run of a lane ended."""
    row = tx.one(
        "SELECT state FROM runs WHERE account_id = :account AND key = :key AND ended_at IS NOT NULL "
        "ORDER BY id DESC LIMIT 1",
        account=access.account_id,
        key=key,
    )
    return row[0] if row else None


def attached_to_runs(tx: Tx, access: Access, key: str) -> list[str]:
    """The ids of every file that came with a run of a lane, heard or not."""
    rows = tx.all(
        "SELECT attachment_ids FROM runs WHERE account_id = :account AND key = :key AND attachment_ids <> '[]'",
        account=access.account_id,
        key=key,
    )
    return [name for row in rows for name in _ids(row[0])]


def delete_runs_of_lane(tx: Tx, access: Access, key: str) -> int:
    """Forget every run of a lane with its calls, artifacts and steps; none may be running."""
    return tx.run("DELETE FROM runs WHERE account_id = :account AND key = :key", account=access.account_id, key=key)
