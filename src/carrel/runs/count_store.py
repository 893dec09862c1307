"""The SQL of the number of A2A runs per caller and agent, updated as runs come and go."""

from zlib import crc32

from carrel.kernel import Access
from carrel.runs.model import Run
from carrel.storage import Tx

# A caller's count is spread over this many rows, so that its lanes rarely wait for each other.
_STRIPES = 16


def count_of_caller(tx: Tx, access: Access, agent_id: str) -> int:
    """Return how many A2A runs a caller has with an agent."""
    sql = (
        "SELECT COALESCE(sum(n), 0) FROM task_counts WHERE account_id = :account AND actor_id = :actor "
        "AND agent_id = :agent"
    )
    row = tx.one(sql, access, actor=access.actor_id, agent=agent_id)
    return int(row[0]) if row else 0


def count_run(tx: Tx, access: Access, run: Run, by: int) -> None:
    """Add 1 to its caller's count for a new run, or -1 for one that is deleted."""
    _count(tx, access, run.actor_id, run.agent_id, run.key, by)


def count_deleted_lane(tx: Tx, access: Access, key: str) -> None:
    """Subtract every run of a lane, before they are deleted."""
    sql = (
        "SELECT actor_id, agent_id, count(*) FROM runs WHERE account_id = :account AND key = :key "
        "AND provenance_kind = 'a2a' GROUP BY actor_id, agent_id ORDER BY actor_id, agent_id"
    )
    for actor_id, agent_id, count in tx.all(sql, access, key=key):
        _count(tx, access, actor_id, agent_id, key, -count)


def _count(tx: Tx, access: Access, actor_id: str, agent_id: str, key: str, more: int) -> None:
    sql = (
        "INSERT INTO task_counts (account_id, actor_id, agent_id, stripe, n) VALUES (:account, :actor, :agent, "
        ":stripe, :more) ON CONFLICT (account_id, actor_id, agent_id, stripe) DO UPDATE SET n = task_counts.n + :more"
    )
    # At the end of the unit of work, so that this row is locked as briefly as possible.
    tx.defer(sql, access, actor=actor_id, agent=agent_id, stripe=crc32(key.encode()) % _STRIPES, more=more)
