"""The SQL of all runs of a lane: the files that came with them, and their removal."""

import msgspec

from carrel.kernel import Access
from carrel.storage import Tx

_LANE = "account_id = :account AND key = :key"
_ids = msgspec.json.Decoder(list[str]).decode


def attached_to_runs(tx: Tx, access: Access, key: str) -> list[str]:
    """Return the ids of all files that came with the runs of a lane, heard or not."""
    rows = tx.all(f"SELECT attachment_ids FROM runs WHERE {_LANE} AND attachment_ids <> '[]'", access, key=key)
    return [name for row in rows for name in _ids(row[0])]


def delete_runs_of_lane(tx: Tx, access: Access, key: str) -> int:
    """Delete every run of a lane with its calls, artifacts and steps; none may be running."""
    return tx.run(f"DELETE FROM runs WHERE {_LANE}", access, key=key)
