"""The SQL of webhooks: who else is told of a run's changes, and how far that has come."""

from carrel.kernel import Access
from carrel.storage import Tx

_OF_RUN = "account_id = :account AND run_id = :run_id"


def want_webhooks(tx: Tx, access: Access, run_id: str, change: int) -> bool:
    """Say that a run has come to a change; whether anybody is to be told of it."""
    told = tx.run(
        "UPDATE webhooks SET wanted_change = :change, due_at = COALESCE(due_at, :now) "
        f"WHERE {_OF_RUN} AND given_up IS NULL",
        account=access.account_id,
        run_id=run_id,
        change=change,
        now=tx.now,
    )
    return told > 0
