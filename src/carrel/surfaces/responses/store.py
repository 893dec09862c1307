"""The SQL of responses: stretches of runs under the names that senders over Open Responses know them by."""

from msgspec import Struct, structs

from carrel.kernel import Access
from carrel.storage import Row, Tx


class Response(Struct, frozen=True, kw_only=True):
    """One stretch of a run. Its fields are the columns of its table, but for the account.

    `after_seq` is the entry behind which it begins, `spent` what the run had used by then, `rested_at` when the stretch
    before came to rest. `request` is what the answer repeats of the request.
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


_FIELDS = Response.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_MINE = "account_id = :account AND actor_id = :actor"


def insert_response(tx: Tx, access: Access, response: Response) -> None:
    """Write a new response."""
    tx.run(
        f"INSERT INTO responses (account_id, {_COLUMNS}) "
        f"VALUES (:account, {', '.join(f':{name}' for name in _FIELDS)})",
        account=access.account_id,
        **structs.asdict(response),
    )


def response_by_id(tx: Tx, access: Access, response_id: str) -> Response | None:
    """A response of this caller; another's is none."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM responses WHERE {_MINE} AND id = :id",
        account=access.account_id,
        actor=access.actor_id,
        id=response_id,
    )
    return None if row is None else _response(row)


def response_by_key(tx: Tx, access: Access, idempotency_key: str) -> Response | None:
    """The response that this caller was given under an idempotency key."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM responses WHERE {_MINE} AND idempotency_key = :key",
        account=access.account_id,
        actor=access.actor_id,
        key=idempotency_key,
    )
    return None if row is None else _response(row)


def release_key(tx: Tx, access: Access, response_id: str) -> None:
    """Let a response's idempotency key be used again."""
    tx.run(
        "UPDATE responses SET idempotency_key = NULL WHERE account_id = :account AND id = :id",
        account=access.account_id,
        id=response_id,
    )


def next_response(tx: Tx, access: Access, response: Response) -> Response | None:
    """The stretch of the same run that follows."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM responses WHERE account_id = :account AND run_id = :run_id AND stretch = :stretch",
        account=access.account_id,
        run_id=response.run_id,
        stretch=response.stretch + 1,
    )
    return None if row is None else _response(row)


def newest_response(tx: Tx, access: Access, run_id: str) -> Response | None:
    """The last stretch of a run; None for a run that is no response."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM responses WHERE account_id = :account AND run_id = :run_id "
        "ORDER BY stretch DESC LIMIT 1",
        account=access.account_id,
        run_id=run_id,
    )
    return None if row is None else _response(row)


def _response(row: Row) -> Response:
    return Response(**dict(zip(_FIELDS, row, strict=True)))
