"""The SQL of heartbeats: when each is due, and up to where its agent has been told of changes."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx


class Heartbeat(Struct, frozen=True, kw_only=True):
    """The next heartbeat of an agent; it is given for what changed after `seq`."""

    account_id: str
    agent_id: str
    due_at: int
    seq: int


class Trace(Struct, frozen=True):
    """Of an entry, what says whom it concerns and who wrote it; contents are not read."""

    seq: int
    key: str | None
    task_id: str | None
    task_view: str | None
    author: str
    author_kind: str
    provenance: str


_TABLE = Table("heartbeats", Heartbeat, key=("account_id", "agent_id"))


def put_heartbeat(tx: Tx, access: Access, heartbeat: Heartbeat) -> None:
    """Write when an agent's next heartbeat is due, in place of what was known before."""
    known = "ON CONFLICT (account_id, agent_id) DO UPDATE SET due_at = excluded.due_at, seq = excluded.seq"
    tx.run(f"{_TABLE.insert} {known}", access, **_TABLE.values(heartbeat))


def delete_heartbeat(tx: Tx, access: Access, agent_id: str) -> None:
    """Give an agent no more heartbeats."""
    sql = "DELETE FROM heartbeats WHERE account_id = :account AND agent_id = :agent_id"
    tx.run(sql, access, agent_id=agent_id)


def heartbeats_due(tx: Tx, limit: int) -> list[Heartbeat]:
    """Return heartbeats across all accounts that are due now."""
    sql = f"SELECT {_TABLE.columns} FROM heartbeats WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _TABLE.rows(tx.all(sql, now=tx.now, limit=limit))


def next_heartbeat_due(tx: Tx) -> int | None:
    """Return when a heartbeat is next due, across all accounts."""
    row = tx.one("SELECT due_at FROM heartbeats ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def hold_heartbeat(tx: Tx, access: Access, agent_id: str) -> Heartbeat | None:
    """Return the heartbeat of an agent, locked until the end of the transaction."""
    sql = f"SELECT {_TABLE.columns} FROM heartbeats WHERE account_id = :account AND agent_id = :agent_id FOR UPDATE"
    return _TABLE.row(tx.one(sql, access, agent_id=agent_id))


def postpone_heartbeat(tx: Tx, access: Access, heartbeat: Heartbeat, until: int) -> None:
    """Make a heartbeat due later, if it is unchanged."""
    mine = "account_id = :account AND agent_id = :agent_id"
    sql = f"UPDATE heartbeats SET due_at = :until WHERE {mine} AND due_at = :due_at"
    tx.run(sql, access, agent_id=heartbeat.agent_id, due_at=heartbeat.due_at, until=until)


def heartbeat_is_live(tx: Tx, access: Access, key: str) -> bool:
    """Return whether a heartbeat is queued, running or waiting in a lane."""
    sql = (
        "SELECT 1 FROM runs WHERE account_id = :account AND key = :key AND provenance_kind = 'heartbeat' "
        "AND state IN ('queued', 'running', 'waiting') LIMIT 1"
    )
    return tx.one(sql, access, key=key) is not None


def traces_since(tx: Tx, access: Access, after: int, upto: int, *, limit: int) -> list[Trace]:
    """Return what entries between two numbers say about themselves, oldest first."""
    sql = (
        f"SELECT {', '.join(Trace.__struct_fields__)} FROM entries WHERE account_id = :account AND seq > :after "
        "AND seq <= :upto ORDER BY seq LIMIT :limit"
    )
    return [Trace(*row) for row in tx.all(sql, access, after=after, upto=upto, limit=limit)]
