"""The SQL of exchanges: what follows after a lane has sent something to another, or has spawned one.

A row says who is to speak next and how far it has come, so that whoever takes it up goes on from what is stored. What
comes next is decided elsewhere; that the run it waits for has ended is written down with that very end.
"""

from carrel.exchanges.model import Exchange
from carrel.kernel import Access
from carrel.storage import Row, Tx

# Rung when something is to be done in an exchange.
EXCHANGES = "exchanges"


_NAMES = Exchange.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_KEY = ("account_id", "id")
_INSERT = f"INSERT INTO exchanges ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"
_UPDATE = (
    f"UPDATE exchanges SET {', '.join(f'{name} = :{name}' for name in _NAMES if name not in _KEY)} "
    "WHERE account_id = :account_id AND id = :id"
)
_CARRY = {True: "= 'carry'", False: "<> 'carry'"}
_ONE = f"SELECT {_COLUMNS} FROM exchanges WHERE account_id = :account"


def _exchange(row: Row | None) -> Exchange | None:
    return None if row is None else Exchange(**dict(zip(_NAMES, row, strict=True)))


def _values(exchange: Exchange, access: Access) -> dict[str, object]:
    return {name: getattr(exchange, name) for name in _NAMES} | {"account_id": access.account_id}


def begin_exchange(tx: Tx, access: Access, exchange: Exchange) -> None:
    """Remember, in the transaction that delivers the first run, that something follows after it."""
    tx.run(_INSERT, **_values(exchange, access))


def keep_exchange(tx: Tx, access: Access, exchange: Exchange) -> None:
    """Write an exchange as it is now; it must be held."""
    tx.run(_UPDATE, **_values(exchange, access))
    tx.wake(EXCHANGES)


def hold_exchange(tx: Tx, access: Access, exchange_id: str) -> Exchange | None:
    """One exchange, held until the end of the transaction. The lanes it concerns must be held before it."""
    return _exchange(tx.one(f"{_ONE} AND id = :id FOR UPDATE", account=access.account_id, id=exchange_id))


def exchange_after(tx: Tx, access: Access, run_id: str, *, hold: bool = False) -> Exchange | None:
    """What follows after a run that was sent or spawned, whatever has become of it."""
    held = " FOR UPDATE" if hold else ""
    return _exchange(tx.one(f"{_ONE} AND first_run_id = :run_id{held}", account=access.account_id, run_id=run_id))


def exchange_of_run(tx: Tx, access: Access, run_id: str) -> Exchange | None:
    """The open exchange that waits for a run."""
    wanted = "AND current_run_id = :run_id AND state = 'open'"
    return _exchange(tx.one(f"{_ONE} {wanted}", account=access.account_id, run_id=run_id))


def awaits_child(tx: Tx, access: Access, requester_key: str, child_key: str) -> bool:
    """True while a lane is still to hear of something that a child of its does."""
    row = tx.one(
        "SELECT 1 FROM exchanges WHERE account_id = :account AND requester_key = :requester AND target_key = :child "
        "AND kind = 'spawn' AND state = 'open' LIMIT 1",
        account=access.account_id,
        requester=requester_key,
        child=child_key,
    )
    return row is not None


def note_run_ended(tx: Tx, access: Access, run_id: str) -> None:
    """Say that a run has ended to the exchange that waits for it, if one does.

    While the requester still waits for the reply itself, it is its call that says so: see `answer_inline`.
    """
    told = tx.run(
        "UPDATE exchanges SET due_at = :now WHERE account_id = :account AND current_run_id = :run_id "
        "AND state = 'open' AND answered_inline IS NOT NULL",
        account=access.account_id,
        run_id=run_id,
        now=tx.now,
    )
    if told:
        tx.wake(EXCHANGES)


def silence_exchanges(tx: Tx, access: Access, requester_key: str) -> None:
    """Let results that are still to come to a lane wake nobody there: it was told to stop."""
    tx.run(
        "UPDATE exchanges SET wakes = 0 WHERE account_id = :account AND requester_key = :key AND kind = 'spawn' "
        "AND state = 'open'",
        account=access.account_id,
        key=requester_key,
    )


def due_exchanges(tx: Tx, limit: int, *, carried: bool) -> list[Exchange]:
    """Exchanges in which something is due now, of whatever account, the longest due first. Holds none.

    `carried` asks for those whose result is to leave on a channel, else for those with another step to take.
    """
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM exchanges WHERE due_at <= :now AND step {_CARRY[carried]} "
        "ORDER BY due_at LIMIT :limit",
        now=tx.now,
        limit=limit,
    )
    return [found for found in map(_exchange, rows) if found is not None]


def next_exchange_due(tx: Tx, *, carried: bool) -> int | None:
    """When something is next due in an exchange of that sort, in whatever account."""
    row = tx.one(
        f"SELECT due_at FROM exchanges WHERE due_at IS NOT NULL AND step {_CARRY[carried]} ORDER BY due_at LIMIT 1"
    )
    return None if row is None else int(row[0])
