"""The SQL of heartbeats: when each agent's next one is due, and what it has to look at then."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.limits import STALL_PAUSES_MINUTES
from carrel.storage import Due, Table, Tx

# Later than every date.
_NEVER = 2**62


class Heartbeat(Struct, frozen=True, kw_only=True):
    """The next heartbeat of an agent; it is sent if something changed after `seq`."""

    account_id: str
    agent_id: str
    due_at: int
    seq: int


class Trace(Struct, frozen=True):
    """The parts of an entry that say whom it concerns and who wrote it, without its content."""

    seq: int
    key: str | None
    task_id: str | None
    task_view: str | None
    author: str
    author_kind: str
    provenance: str


class TaskToLookAt(Struct, frozen=True):
    """A task that an agent has to look at, even if nothing has changed there."""

    id: str
    due_date: int | None
    # Whether its reminders are used up, and whether somebody waits for the agent's response.
    is_stalled: int
    is_asked: int


_TABLE = Table("heartbeats", Heartbeat, key=("account_id", "agent_id"))
HEARTBEATS = Due(_TABLE, "heartbeats")


def put_heartbeat(tx: Tx, access: Access, heartbeat: Heartbeat) -> None:
    tx.run(_TABLE.upsert, access, **_TABLE.values(heartbeat))


def delete_heartbeat(tx: Tx, access: Access, agent_id: str) -> None:
    tx.run("DELETE FROM heartbeats WHERE account_id = :account AND agent_id = :agent_id", access, agent_id=agent_id)


def hold_heartbeat(tx: Tx, access: Access, agent_id: str) -> Heartbeat | None:
    """Return the heartbeat of an agent, locked until the end of the transaction."""
    sql = f"{_TABLE.select} WHERE account_id = :account AND agent_id = :agent_id FOR UPDATE"
    return _TABLE.row(tx.one(sql, access, agent_id=agent_id))


def heartbeat_is_live(tx: Tx, access: Access, key: str) -> bool:
    """Return whether a heartbeat is queued, running or waiting in a lane."""
    sql = (
        "SELECT 1 FROM runs WHERE account_id = :account AND key = :key AND provenance_kind = 'heartbeat' "
        "AND state IN ('queued', 'running', 'waiting') LIMIT 1"
    )
    return tx.one(sql, access, key=key) is not None


def traces_since(tx: Tx, access: Access, after: int, upto: int, *, limit: int) -> list[Trace]:
    """Return the traces of entries between two numbers, oldest first."""
    sql = (
        f"SELECT {', '.join(Trace.__struct_fields__)} FROM entries WHERE account_id = :account AND seq > :after "
        "AND seq <= :upto ORDER BY seq LIMIT :limit"
    )
    return [Trace(*row) for row in tx.all(sql, access, after=after, upto=upto, limit=limit)]


def tasks_to_look_at(tx: Tx, access: Access, agent_id: str, *, soon: int, limit: int) -> list[TaskToLookAt]:
    """Return an agent's tasks that are due before a time, have stalled, or on which it owes a response."""
    of_agent = (
        "SELECT task_id FROM task_parties WHERE account_id = :account AND kind = 'agent' AND party_id = :agent_id "
        "AND assigned_at IS NOT NULL UNION SELECT task_id FROM response_requests WHERE account_id = :account "
        "AND agent_id = :agent_id AND answered_at IS NULL"
    )
    sql = (
        "SELECT t.id, t.due_date, CASE WHEN s.task_id IS NULL THEN 0 ELSE 1 END, "
        "CASE WHEN r.task_id IS NULL THEN 0 ELSE 1 END FROM tasks t "
        "LEFT JOIN stalls s ON s.account_id = :account AND s.task_id = t.id AND s.taken_up >= :times "
        "AND s.due_at IS NULL AND t.status = 'in_progress' "
        "LEFT JOIN response_requests r ON r.account_id = :account AND r.task_id = t.id AND r.agent_id = :agent_id "
        "AND r.answered_at IS NULL "
        f"WHERE t.account_id = :account AND t.id IN ({of_agent}) AND t.status NOT IN ('done', 'blocked', 'archived') "
        "AND (t.snoozed_until IS NULL OR t.snoozed_until <= :now) AND (r.task_id IS NOT NULL OR s.task_id IS NOT NULL "
        "OR (t.due_date <= :soon AND t.status <> 'review')) ORDER BY COALESCE(t.due_date, :last), t.id LIMIT :limit"
    )
    values = {"agent_id": agent_id, "soon": soon, "times": len(STALL_PAUSES_MINUTES), "now": tx.now, "limit": limit}
    return [TaskToLookAt(*row) for row in tx.all(sql, access, last=_NEVER, **values)]
