"""The SQL of runs that wait for an unreachable gateway.

A gateway belongs to the server, so the runs that wait for it are released in all accounts at once.
"""

from carrel.kernel.limits import UNREACHABLE_RELEASED_MAX
from carrel.runs.model import RUNS, Claim
from carrel.storage import Tx


def unreachable_since(tx: Tx, run: Claim) -> int | None:
    """Return since when a run waits for its gateway; None if it does not."""
    row = tx.one("SELECT unreachable_since FROM runs WHERE account_id = :account AND id = :id", run, id=run.id)
    return row[0] if row else None


def unreachable_gateways(tx: Tx) -> list[str]:
    sql = "SELECT DISTINCT unreachable_gateway FROM runs WHERE unreachable_gateway IS NOT NULL AND state = 'queued'"
    return [gateway for (gateway,) in tx.all(sql)]


def release_from(tx: Tx, gateway: str) -> bool:
    """Let runs that wait for a gateway continue, oldest first; True if more may be waiting."""
    sql = (
        "SELECT account_id, id FROM runs WHERE unreachable_gateway = :gateway AND state IN ('queued', 'running') "
        "ORDER BY seq LIMIT :limit FOR UPDATE SKIP LOCKED"
    )
    waiting = tx.all(sql, gateway=gateway, limit=UNREACHABLE_RELEASED_MAX)
    update = (
        "UPDATE runs SET unreachable_gateway = NULL, unreachable_since = NULL, "
        "due_at = CASE WHEN state = 'queued' THEN :now END WHERE account_id = :account_id AND id = :id"
    )
    tx.run_many(update, [{"account_id": account_id, "id": run_id, "now": tx.now} for account_id, run_id in waiting])
    for _ in waiting:
        tx.wake(RUNS)
    return len(waiting) == UNREACHABLE_RELEASED_MAX
