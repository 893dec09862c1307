"""The SQL of held runs, which wait for a budget, or for somebody to let a loop go on."""

from carrel.kernel import Access
from carrel.runs.model import RUNS
from carrel.storage import Tx

_HELD = "account_id = :account AND held_for = :held_for AND state = 'queued'"


def release_held(tx: Tx, access: Access, held_for: str) -> int:
    """Let the runs that are held for something look again whether they may go on; return how many."""
    released = tx.run(
        f"UPDATE runs SET due_at = :now, held_for = NULL WHERE {_HELD}", access, held_for=held_for, now=tx.now
    )
    for _ in range(released):
        tx.wake(RUNS)
    return released


def release_every_held(tx: Tx) -> int:
    """The same for all held runs, in all accounts: for a server whose settings may be others."""
    return tx.run(
        "UPDATE runs SET due_at = :now, held_for = NULL WHERE held_for IS NOT NULL AND state = 'queued'", now=tx.now
    )
