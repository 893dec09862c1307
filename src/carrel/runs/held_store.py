"""The SQL of runs that wait for a budget."""

from carrel.kernel import Access
from carrel.runs.model import RUNS, Claim
from carrel.runs.store import may_move
from carrel.storage import Tx

_HOLD = (
    "UPDATE runs SET state = 'queued', due_at = :due_at, worker = NULL, lease_until = NULL, attempt = attempt - 1, "
    "budget = :budget, failed_at = :now, error_code = :error_code, error_message = :error_message, "
    "usage = COALESCE(:usage, usage), deadline_at = CASE WHEN patience_ms = 0 THEN deadline_at END, "
    "updated_at = :now, changes = changes + 1 "
    f"WHERE account_id = :account AND id = :id AND {may_move('running', to='queued')}"
)
_OF_BUDGET = "account_id = :account AND budget = :budget AND state = 'queued'"


def hold_claimed(
    tx: Tx, run: Claim, *, budget: str, due_at: int, error_code: str, error_message: str, usage: str | None
) -> None:
    """Return a running run to the head of its lane without counting this attempt; the transaction must have locked it.

    Its time limit starts anew when it goes on, unless its sender has set it.
    """
    error = {"error_code": error_code, "error_message": error_message}
    moved = tx.run(_HOLD, run, id=run.id, now=tx.now, budget=budget, due_at=due_at, usage=usage, **error)
    assert moved, "a locked run is only moved from a state that has this move"


def release_held(tx: Tx, access: Access, budget: str) -> None:
    """Let the runs that wait for a budget look again whether they may go on."""
    sql = f"UPDATE runs SET due_at = :now, budget = NULL WHERE {_OF_BUDGET}"
    for _ in range(tx.run(sql, access, budget=budget, now=tx.now)):
        tx.wake(RUNS)


def release_every_held(tx: Tx) -> int:
    """The same for all runs that wait for a budget, in all accounts: for a server whose settings may be others."""
    return tx.run(
        "UPDATE runs SET due_at = :now, budget = NULL WHERE budget IS NOT NULL AND state = 'queued'", now=tx.now
    )
