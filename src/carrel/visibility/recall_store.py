"""The SQL of what lanes recall: what was chosen for one."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.settings import Recall
from carrel.storage import Tx


class LaneChoice(Struct, frozen=True):
    """A lane, and what was chosen for it."""

    kind: str
    agent_id: str
    recall: Recall | None


def choice_of_lane(tx: Tx, access: Access, key: str) -> LaneChoice | None:
    """Return what was chosen for a lane; None when there is no such lane."""
    sql = "SELECT kind, agent_id, recall FROM lanes WHERE account_id = :account AND key = :key"
    row = tx.one(sql, access, key=key)
    return None if row is None else LaneChoice(*row)


def is_bucket(tx: Tx, access: Access, bucket: str) -> bool:
    """Return whether a program has sent entries under a name."""
    sql = "SELECT 1 FROM entries WHERE account_id = :account AND bucket = :bucket LIMIT 1"
    return tx.one(sql, access, bucket=bucket) is not None
