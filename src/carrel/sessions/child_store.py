"""The SQL of lanes that were spawned from others."""

from msgspec import Struct

from carrel.kernel import Access, SessionKey
from carrel.sessions.model import Lane
from carrel.storage import Tx

# Rung when a folder of files is wanted no more.
LEFTOVERS = "leftovers"
_LANE = ", ".join(Lane.__struct_fields__)


class NewChild(Struct, frozen=True, kw_only=True):
    """A lane to be spawned."""

    key: SessionKey
    spawned_by: SessionKey
    sandboxed: bool = False
    label: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    # Where the files lie that it was given, and their receipt, as JSON.
    files: str | None = None


def insert_child(tx: Tx, access: Access, child: NewChild) -> None:
    """Make a spawned lane; its key is new."""
    tx.run(
        "INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, spawned_by, sandboxed, label, "
        "model, thinking_level, files, created_at, updated_at) VALUES (:account, :key, :agent, :kind, :conversation, "
        ":made_by, :spawned_by, :sandboxed, :label, :model, :thinking_level, :files, :now, :now)",
        account=access.account_id,
        key=str(child.key),
        agent=child.key.agent,
        kind=child.key.kind,
        conversation=child.key.conversation,
        made_by=access.actor_id,
        spawned_by=str(child.spawned_by),
        sandboxed=int(child.sandboxed),
        label=child.label,
        model=child.model,
        thinking_level=child.thinking_level,
        files=child.files,
        now=tx.now,
    )


def count_live_children(tx: Tx, access: Access, key: str) -> int:
    """How many lanes spawned from a lane have something queued, running or waiting."""
    row = tx.one(
        "SELECT count(*) FROM lanes l WHERE l.account_id = :account AND l.spawned_by = :key AND (l.depth > 0 OR EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key AND r.state = 'waiting'))",
        account=access.account_id,
        key=key,
    )
    return int(row[0]) if row else 0


def idle_children(tx: Tx, access: Access, agent_id: str, before: int, *, limit: int) -> list[Lane]:
    """Lanes that an agent's lanes have spawned and in which nothing has happened since a moment, in their order."""
    rows = tx.all(
        f"SELECT {_LANE} FROM lanes l WHERE l.account_id = :account AND l.kind = 'subagent' AND l.archived_at IS NULL "
        "AND l.updated_at < :before AND l.depth = 0 AND l.spawned_by LIKE :like ESCAPE '!' AND NOT EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key "
        "AND (r.ended_at IS NULL OR r.ended_at >= :before)) ORDER BY l.key LIMIT :limit",
        account=access.account_id,
        before=before,
        like=f"agent:{agent_id.replace('_', '!_')}:%",
        limit=limit,
    )
    return [Lane(*row) for row in rows]


def leave_files(tx: Tx, access: Access, lane: Lane) -> None:
    """Say that the files a lane was given are wanted no more; whoever sweeps up removes them."""
    if lane.files is None:
        return
    tx.run(
        "INSERT INTO leftovers (account_id, id, files, left_at) VALUES (:account, :id, :files, :now)",
        account=access.account_id,
        id=tx.new_id("lft"),
        files=lane.files,
        now=tx.now,
    )
    tx.run(
        "UPDATE lanes SET files = NULL WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=lane.key,
    )
    tx.wake(LEFTOVERS)


def leftovers_of(tx: Tx, access: Access, *, limit: int) -> list[tuple[str, str]]:
    """(id, files) of what is to be removed, the oldest first."""
    rows = tx.all(
        "SELECT id, files FROM leftovers WHERE account_id = :account ORDER BY id LIMIT :limit",
        account=access.account_id,
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]


def forget_leftover(tx: Tx, access: Access, leftover_id: str) -> None:
    """The files are gone."""
    tx.run("DELETE FROM leftovers WHERE account_id = :account AND id = :id", account=access.account_id, id=leftover_id)
