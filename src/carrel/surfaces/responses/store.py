"""The SQL of responses: stretches of runs, under the ids by which Open Responses clients know them."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx


class Response(Struct, frozen=True, kw_only=True):
    """One stretch of a run. Its fields are the columns of its table, apart from the account.

    It shows the entries after `after_seq`. `spent` is what the run had used by then, `rested_at` is when the previous
    stretch ended, and `request` is what the answer repeats of the request.
    """

    id: str
    run_id: str
    stretch: int
    actor_id: str
    request: str
    request_sha256: str
    created_at: int
    stored: int = 1
    after_seq: int = 0
    spent: str | None = None
    rested_at: int | None = None
    previous_id: str | None = None
    idempotency_key: str | None = None


_TABLE = Table("responses", Response)
_SELECT = f"SELECT {_TABLE.columns} FROM responses WHERE account_id = :account"


def insert_response(tx: Tx, access: Access, response: Response) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(response))


def response_by_id(tx: Tx, access: Access, response_id: str) -> Response | None:
    """Return a response of this caller."""
    sql = f"{_SELECT} AND actor_id = :actor AND id = :id"
    return _TABLE.row(tx.one(sql, access, actor=access.actor_id, id=response_id))


def response_by_key(tx: Tx, access: Access, idempotency_key: str) -> Response | None:
    """Return the response that this caller was given under an idempotency key."""
    sql = f"{_SELECT} AND actor_id = :actor AND idempotency_key = :key"
    return _TABLE.row(tx.one(sql, access, actor=access.actor_id, key=idempotency_key))


def release_key(tx: Tx, access: Access, response_id: str) -> None:
    """Let a response's idempotency key be used again."""
    sql = "UPDATE responses SET idempotency_key = NULL WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=response_id)


def forget_response(tx: Tx, access: Access, response_id: str) -> None:
    """Treat a response as one that was never to be stored; it goes with its run."""
    tx.run("UPDATE responses SET stored = 0 WHERE account_id = :account AND id = :id", access, id=response_id)


def next_response(tx: Tx, access: Access, response: Response) -> Response | None:
    """Return the next stretch of the same run."""
    sql = f"{_SELECT} AND run_id = :run_id AND stretch = :stretch"
    return _TABLE.row(tx.one(sql, access, run_id=response.run_id, stretch=response.stretch + 1))


def newest_response(tx: Tx, access: Access, run_id: str) -> Response | None:
    """Return the last stretch of a run; None for a run without responses."""
    return _TABLE.row(tx.one(f"{_SELECT} AND run_id = :run_id ORDER BY stretch DESC LIMIT 1", access, run_id=run_id))
