"""The SQL of held runs, which wait for a budget or for a person to release a loop."""

from carrel.kernel import Access
from carrel.runs.model import RUNS
from carrel.storage import Tx

_HELD = "account_id = :account AND held_for = :held_for AND state = 'queued'"


def release_held(tx: Tx, access: Access, held_for: str, *, key: str | None = None) -> int:
    """Let the runs that are held for something check again, in one lane or in all; return how many."""
    lane, of = (" AND key = :key", {"key": key}) if key is not None else ("", {})
    sql = f"UPDATE runs SET due_at = :now, held_for = NULL WHERE {_HELD}{lane}"
    released = tx.run(sql, access, held_for=held_for, now=tx.now, **of)
    for _ in range(released):
        tx.wake(RUNS)
    return released


def release_every_held(tx: Tx) -> int:
    """Let all held runs in all accounts check again, for a server whose settings may have changed."""
    return tx.run(
        "UPDATE runs SET due_at = :now, held_for = NULL WHERE held_for IS NOT NULL AND state = 'queued'", now=tx.now
    )
