"""The SQL of steering: messages that wait to join a run, and those that have joined."""

from carrel.kernel import Access
from carrel.runs.model import STEERED, Run
from carrel.runs.store import RUN_TABLE, may_move
from carrel.storage import Tx

_ONE = "account_id = :account AND id = :id"


def aim(tx: Tx, access: Access, run_id: str, at: str) -> None:
    """Let a queued message wait for the next step of a run; its lane must be locked."""
    tx.pipeline(f"UPDATE runs SET steers = :at, updated_at = :now WHERE {_ONE}", access, id=run_id, at=at, now=tx.now)
    tx.pipeline(f"UPDATE runs SET steered = 1 WHERE {_ONE}", access, id=at)


def messages_for(tx: Tx, access: Access, run_id: str, limit: int) -> list[Run]:
    """Return the oldest messages that wait to join a run, locked; its lane must already be locked."""
    where = "steers = :run_id AND state = 'queued' ORDER BY seq LIMIT :limit FOR UPDATE"
    return RUN_TABLE.all(tx, access, where, run_id=run_id, limit=limit)


def join(tx: Tx, access: Access, message: Run, into: Run) -> None:
    """End a message's own run: the run that it joined answers it."""
    sql = (
        "UPDATE runs SET state = 'completed', reason = :reason, session_id = :session_id, generation = :generation, "
        "ended_at = :now, updated_at = :now, changes = changes + 1 "
        f"WHERE {_ONE} AND {may_move('queued', to='completed')}"
    )
    bound: dict[str, object] = {"session_id": into.session_id, "generation": into.generation}
    tx.run(sql, access, id=message.id, now=tx.now, reason=STEERED, **bound)


def note_taken(tx: Tx, access: Access, run_id: str, *, more: bool) -> None:
    """Record whether more messages wait to join a run."""
    tx.pipeline(f"UPDATE runs SET steered = :more WHERE {_ONE}", access, id=run_id, more=int(more))
