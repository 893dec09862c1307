"""The SQL of trees of lanes: a lane with everything spawned from it."""

from carrel.kernel import Access
from carrel.storage import Tx

# The keys of a lane, `:root`, and of all lanes spawned from it.
TREE = (
    "WITH RECURSIVE tree (key) AS (SELECT CAST(:root AS TEXT) UNION SELECT c.key FROM lanes c JOIN tree t "
    "ON c.spawned_by = t.key WHERE c.account_id = :account) SELECT key FROM tree"
)


def spawned_from(tx: Tx, access: Access, key: str, root: str) -> bool:
    """Return True when a lane was spawned from another, directly or not; a lane counts as spawned from itself."""
    return tx.one(f"SELECT 1 FROM ({TREE}) AS t WHERE t.key = :key", access, root=root, key=key) is not None
