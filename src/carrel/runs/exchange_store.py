"""The SQL of exchanges: what follows after a lane has sent something to another, or has spawned one.

A row says who is to speak next and how far it has come, so that whoever takes it up goes on from what is stored. What
comes next is decided elsewhere; that the run it waits for has ended is written down with that very end.
"""

from typing import Literal

from msgspec import Struct

from carrel.kernel import Access, SessionKey, system_access
from carrel.storage import EXCHANGES, Row, Tx

Kind = Literal["send", "spawn"]
# primary: what was asked for; reply: rounds of answers; announce: the target puts the result into words; handover: the
# result goes into the requester's lane; carry: it goes out on a channel.
Step = Literal["primary", "reply", "announce", "handover", "carry"]
ExchangeState = Literal["open", "delivered", "skipped", "undelivered"]
# Only what such runs are said by can belong to an exchange: no other run pays for the look.
_SAID_BY_EXCHANGES = ("inter_session", "reply_back", "announce", "spawn")


class Exchange(Struct, frozen=True, kw_only=True):
    """What follows one send or one spawn; its fields are the columns of its table."""

    account_id: str
    id: str
    kind: Kind
    requester_key: str
    target_key: str
    first_run_id: str
    created_at: int
    requester_session_id: str | None = None
    requester_run_id: str | None = None
    current_run_id: str | None = None
    step: Step = "primary"
    # The first run is round 1; every answer to an answer is one more.
    round: int = 1
    rounds_max: int = 0
    last_reply: str | None = None
    announcement: str | None = None
    # 1 when the requester's call came back with the reply, 0 when it did not, None while that is open.
    answered_inline: int | None = 0
    attempts: int = 0
    due_at: int | None = None
    expires_at: int | None = None
    state: ExchangeState = "open"
    error: str | None = None
    ended_at: int | None = None
    # Of a spawn: whether the child goes once its result is delivered, and whether the result wakes the requester.
    cleanup: Literal["delete", "keep"] = "keep"
    wakes: int = 1

    @property
    def access(self) -> Access:
        """The house's access to the exchange's account."""
        return system_access(self.account_id)

    @property
    def requester(self) -> SessionKey:
        """The lane that asked."""
        return SessionKey.stored(self.requester_key)

    @property
    def target(self) -> SessionKey:
        """The lane that was asked."""
        return SessionKey.stored(self.target_key)


_NAMES = Exchange.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_KEY = ("account_id", "id")
_INSERT = f"INSERT INTO exchanges ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"
_UPDATE = (
    f"UPDATE exchanges SET {', '.join(f'{name} = :{name}' for name in _NAMES if name not in _KEY)} "
    "WHERE account_id = :account_id AND id = :id"
)
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


def note_run_ended(tx: Tx, access: Access, run_id: str, provenance_kind: str) -> None:
    """Say that a run has ended to the exchange that waits for it, if one does.

    While the requester still waits for the reply itself, it is its call that says so: see `answer_inline`.
    """
    if provenance_kind not in _SAID_BY_EXCHANGES:
        return
    told = tx.run(
        "UPDATE exchanges SET due_at = :now WHERE account_id = :account AND current_run_id = :run_id "
        "AND state = 'open' AND answered_inline IS NOT NULL",
        account=access.account_id,
        run_id=run_id,
        now=tx.now,
    )
    if told:
        tx.wake(EXCHANGES)


def hush_exchanges(tx: Tx, access: Access, requester_key: str) -> None:
    """Let results that are still to come to a lane wake nobody there: it was told to stop."""
    tx.run(
        "UPDATE exchanges SET wakes = 0 WHERE account_id = :account AND requester_key = :key AND kind = 'spawn' "
        "AND state = 'open'",
        account=access.account_id,
        key=requester_key,
    )


def due_exchanges(tx: Tx, limit: int) -> list[Exchange]:
    """Exchanges in which something is to be done now, of whatever account, the longest due first. Holds none."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM exchanges WHERE due_at <= :now ORDER BY due_at LIMIT :limit", now=tx.now, limit=limit
    )
    return [found for found in map(_exchange, rows) if found is not None]


def next_exchange_due(tx: Tx) -> int | None:
    """When something is next to be done in an exchange, in whatever account."""
    row = tx.one("SELECT due_at FROM exchanges WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return None if row is None else int(row[0])
