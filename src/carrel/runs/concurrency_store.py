"""The SQL of concurrency: how many runs work at each gateway and for each agent, and the heads that are due."""

from collections.abc import Sequence
from typing import NamedTuple

from carrel.kernel import Access
from carrel.runs.model import Claim
from carrel.runs.store import CLAIM_TABLE
from carrel.storage import Row, Tx, padded

# A claim's columns, and what limits depend on. A replay may name a gateway other than its agent's.
_COLUMNS = f"{CLAIM_TABLE.columns_of('r')}, r.due_at, COALESCE(r.gateway, a.gateway), a.concurrency"
_HEADS = f"SELECT {_COLUMNS} FROM runs r JOIN agents a ON a.account_id = r.account_id AND a.id = r.agent_id"
_SELECT_DUE = f"{_HEADS} WHERE r.due_at <= :now ORDER BY r.due_at, r.seq LIMIT :limit FOR UPDATE OF r SKIP LOCKED"
_SELECT_NEXT = f"{_HEADS} WHERE r.account_id = :account AND r.key = :key AND r.state = 'queued' ORDER BY r.seq LIMIT 1"
# A run whose tool call waits for another run that has not settled has lent its slot.
_HAS_LENT = (
    "SELECT 1 FROM calls c JOIN runs w ON w.account_id = c.account_id AND w.id = c.waits_for "
    "WHERE c.account_id = r.account_id AND c.run_id = r.id AND c.waits_until > :now "
    "AND w.state IN ('queued', 'running')"
)


class Head(NamedTuple):
    """The next run of a lane, its gateway (empty for the default one), and its agent's own limit."""

    run: Claim
    due_at: int | None
    gateway: str
    concurrency: int | None


class Working(NamedTuple):
    """How many runs of an agent work at a gateway."""

    account_id: str
    agent_id: str
    gateway: str
    concurrency: int | None
    runs: int


def hold_claims(tx: Tx) -> None:
    """Make other claims that count slots wait until this transaction has ended."""
    tx.run(
        "INSERT INTO concurrency_locks (name) VALUES ('claims') ON CONFLICT (name) DO UPDATE SET name = excluded.name"
    )


def working(tx: Tx) -> list[Working]:
    """Return how many runs work, on all servers; those that wait for another run have lent their slot."""
    sql = (
        "SELECT r.account_id, r.agent_id, COALESCE(r.gateway, a.gateway), a.concurrency, count(*) "
        "FROM runs r JOIN agents a ON a.account_id = r.account_id AND a.id = r.agent_id "
        f"WHERE r.state = 'running' AND NOT EXISTS ({_HAS_LENT}) GROUP BY 1, 2, 3, 4"
    )
    return [Working(row[0], row[1], row[2], row[3], int(row[4])) for row in tx.all(sql, now=tx.now)]


def due_heads(
    tx: Tx, limit: int, *, after: Head | None = None, full_gateways: Sequence[str] = (),
    full_agents: Sequence[tuple[str, str]] = (),
) -> list[Head]:  # fmt: skip
    """Lock and return the oldest due heads of lanes after a given one, across all accounts; none that are full."""
    if after is None and not full_gateways and not full_agents:
        return list(map(_head, tx.all(_SELECT_DUE, now=tx.now, limit=limit)))
    where, values = ["r.due_at <= :now"], dict[str, object]()
    if after is not None:
        where.append("(r.due_at > :due_at OR (r.due_at = :due_at AND r.seq > :seq))")
        values |= {"due_at": after.due_at, "seq": after.run.seq}
    if full_gateways:
        named = {f"gateway_{at}": name for at, name in enumerate(padded(list(full_gateways)))}
        where.append(f"COALESCE(r.gateway, a.gateway) NOT IN ({', '.join(f':{each}' for each in named)})")
        values |= named
    if full_agents:
        pairs = [f"(:owner_{at}, :agent_{at})" for at, _ in enumerate(padded(list(full_agents)))]
        where.append(f"(r.account_id, r.agent_id) NOT IN (VALUES {', '.join(pairs)})")
        for at, (account_id, agent_id) in enumerate(padded(list(full_agents))):
            values |= {f"owner_{at}": account_id, f"agent_{at}": agent_id}
    sql = f"{_HEADS} WHERE {' AND '.join(where)} ORDER BY r.due_at, r.seq LIMIT :limit FOR UPDATE OF r SKIP LOCKED"
    return list(map(_head, tx.all(sql, now=tx.now, limit=limit, **values)))


def next_head(tx: Tx, access: Access, key: str) -> Head | None:
    """Return the oldest queued run of a lane."""
    row = tx.one(_SELECT_NEXT, access, key=key)
    return None if row is None else _head(row)


def head_of(tx: Tx, access: Access, run: Claim) -> Head | None:
    """Return a run with what its limits depend on."""
    row = tx.one(f"{_HEADS} WHERE r.account_id = :account AND r.id = :id", access, id=run.id)
    return None if row is None else _head(row)


def _head(row: Row) -> Head:
    return Head(CLAIM_TABLE.row(row[:-3]), row[-3], row[-2], row[-1])
