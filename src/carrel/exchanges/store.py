"""The SQL of exchanges: what follows after a lane has sent something to another, or has spawned one.

A row records whose turn is next and how far the exchange is, so that any server can continue it. The end of the run
that an exchange waits for is recorded in the transaction of that end. The next step is decided elsewhere.
"""

from carrel.exchanges.model import MOVES, Exchange, states_before
from carrel.kernel import Access
from carrel.storage import Due, Table, Tx

# Rung when an exchange needs work.
EXCHANGES = "exchanges"
_TABLE = Table("exchanges", Exchange)
_MINE = f"{_TABLE.select} WHERE account_id = :account"
# How an exchange reaches each state; from states that MOVES does not allow, nothing is written.
_KEEP = {
    after: f"{_TABLE.update} AND state IN ({', '.join(repr(before) for before in states_before(after))})"
    for after in MOVES
}
# Exchanges with another step to take, and those whose result has to be posted on a channel.
STEPS = Due(_TABLE, EXCHANGES, "step <> 'carry'")
POSTS = Due(_TABLE, EXCHANGES, "step = 'carry'")


def begin_exchange(tx: Tx, access: Access, exchange: Exchange) -> None:
    """Write a new exchange, in the transaction that delivers its first run."""
    tx.run(_TABLE.insert, access, **_TABLE.values(exchange))


def keep_exchange(tx: Tx, access: Access, exchange: Exchange) -> None:
    """Write the current state of an exchange; this transaction must have locked it."""
    tx.run(_KEEP[exchange.state], access, **_TABLE.values(exchange))
    tx.wake(EXCHANGES)


def hold_exchange(tx: Tx, access: Access, exchange_id: str) -> Exchange | None:
    """Return one exchange, locked until the end of the transaction; its lanes must be locked first."""
    return _TABLE.row(tx.one(f"{_MINE} AND id = :id FOR UPDATE", access, id=exchange_id))


def exchange_after(tx: Tx, access: Access, run_id: str, *, hold: bool = False) -> Exchange | None:
    """Return the exchange that a sent or spawned run began, in any state."""
    lock = " FOR UPDATE" if hold else ""
    return _TABLE.row(tx.one(f"{_MINE} AND first_run_id = :run_id{lock}", access, run_id=run_id))


def exchange_of_run(tx: Tx, access: Access, run_id: str) -> Exchange | None:
    """Return the open exchange that waits for a run."""
    return _TABLE.row(tx.one(f"{_MINE} AND current_run_id = :run_id AND state = 'open'", access, run_id=run_id))


def awaits_child(tx: Tx, access: Access, requester_key: str, child_key: str, *, besides: bool = False) -> bool:
    """Return whether a lane still has to receive a result from one of its children, or from another `besides` it."""
    sql = (
        "SELECT 1 FROM exchanges WHERE account_id = :account AND requester_key = :requester AND kind = 'spawn' "
        f"AND state = 'open' AND target_key {'<>' if besides else '='} :child LIMIT 1"
    )
    return tx.one(sql, access, requester=requester_key, child=child_key) is not None


def note_run_ended(tx: Tx, access: Access, run_id: str) -> None:
    """Make the exchange that waits for a run due, if there is one, because the run has ended.

    While the requester's own call still waits for the reply, that call does so itself.
    """
    sql = (
        "UPDATE exchanges SET due_at = :now WHERE account_id = :account AND current_run_id = :run_id "
        "AND state = 'open' AND answered_inline IS NOT NULL"
    )
    if tx.run(sql, access, run_id=run_id, now=tx.now):
        tx.wake(EXCHANGES)


def silence_exchanges(tx: Tx, access: Access, requester_key: str) -> None:
    """Prevent results for a stopped lane from starting runs there."""
    sql = (
        "UPDATE exchanges SET wakes = 0 WHERE account_id = :account AND requester_key = :key AND kind = 'spawn' "
        "AND state = 'open'"
    )
    tx.run(sql, access, key=requester_key)
