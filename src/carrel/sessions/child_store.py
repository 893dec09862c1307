"""The SQL of lanes that were spawned from others."""

from msgspec import Struct

from carrel.kernel import Access, SessionKey
from carrel.sessions.model import Lane
from carrel.sessions.store import LANE_TABLE
from carrel.storage import Tx

# Rung when a folder of files is no longer needed.
LEFTOVERS = "leftovers"


class NewChild(Struct, frozen=True, kw_only=True):
    """A lane to be spawned."""

    key: SessionKey
    spawned_by: SessionKey
    sandboxed: bool = False
    label: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    # The folder of the files it was given, and their receipt, as JSON.
    files: str | None = None


def insert_child(tx: Tx, access: Access, child: NewChild) -> None:
    """Create a spawned lane; its key must be new."""
    key = child.key
    tx.run(
        "INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, spawned_by, sandboxed, label, "
        "model, thinking_level, files, created_at, updated_at) VALUES (:account, :key, :agent, :kind, :conversation, "
        ":made_by, :spawned_by, :sandboxed, :label, :model, :thinking_level, :files, :now, :now)",
        access, key=str(key), agent=key.agent, kind=key.kind, conversation=key.conversation,
        made_by=access.actor_id, spawned_by=str(child.spawned_by), sandboxed=int(child.sandboxed), label=child.label,
        model=child.model, thinking_level=child.thinking_level, files=child.files, now=tx.now,
    )  # fmt: skip


def count_live_children(tx: Tx, access: Access, key: str) -> int:
    """Return how many lanes spawned from a lane have a queued, running or waiting run."""
    sql = (
        "SELECT count(*) FROM lanes l WHERE l.account_id = :account AND l.spawned_by = :key AND (l.depth > 0 OR EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key AND r.state = 'waiting'))"
    )
    row = tx.one(sql, access, key=key)
    return int(row[0]) if row else 0


def idle_children(tx: Tx, access: Access, agent_id: str, before: int, *, limit: int) -> list[Lane]:
    """Return lanes spawned by an agent's lanes in which nothing has happened since a moment, by key."""
    sql = (
        f"SELECT {LANE_TABLE.columns} FROM lanes l WHERE l.account_id = :account AND l.kind = 'subagent' "
        "AND l.archived_at IS NULL AND l.updated_at < :before AND l.depth = 0 AND l.spawned_by LIKE :like ESCAPE '!' "
        "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key "
        "AND (r.ended_at IS NULL OR r.ended_at >= :before)) ORDER BY l.key LIMIT :limit"
    )
    like = f"agent:{agent_id.replace('_', '!_')}:%"
    return LANE_TABLE.rows(tx.all(sql, access, before=before, like=like, limit=limit))


def leave_files(tx: Tx, access: Access, lane: Lane) -> None:
    """Record that the files a lane was given are no longer needed; the sweeper deletes them."""
    if lane.files is None:
        return
    sql = "INSERT INTO leftovers (account_id, id, files, left_at) VALUES (:account, :id, :files, :now)"
    tx.run(sql, access, id=tx.new_id("lft"), files=lane.files, now=tx.now)
    tx.run("UPDATE lanes SET files = NULL WHERE account_id = :account AND key = :key", access, key=lane.key)
    tx.wake(LEFTOVERS)


def leftovers_of(tx: Tx, access: Access, *, limit: int) -> list[tuple[str, str]]:
    """Return (id, files) of what to delete, oldest first."""
    sql = "SELECT id, files FROM leftovers WHERE account_id = :account ORDER BY id LIMIT :limit"
    return [(row[0], row[1]) for row in tx.all(sql, access, limit=limit)]


def forget_leftover(tx: Tx, access: Access, leftover_id: str) -> None:
    """Record that the files are deleted."""
    tx.run("DELETE FROM leftovers WHERE account_id = :account AND id = :id", access, id=leftover_id)
