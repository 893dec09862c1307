"""The SQL of receipts: one row for each step of a turn."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import Claim
from carrel.storage import Table, Tx


class StepRow(Struct, frozen=True):
    """One step as it was sent, and the answer to it; `body` is empty if nothing was sent."""

    n: int
    attempt: int
    gateway: str
    address: str
    model: str
    instructions_version: str
    instructions_sha256: str
    body: str
    body_sha256: str
    history_omitted: int
    sent_at: int
    answered_at: int | None = None
    output: str | None = None


_TABLE = Table("steps", StepRow, key=("account_id", "run_id", "n"))
_OF_RUN = "account_id = :account AND run_id = :run_id"


_INSERT_NEXT = _TABLE.insert.replace(" :n,", " (SELECT COALESCE(max(n), 0) + 1 FROM steps WHERE " + _OF_RUN + "),", 1)


def insert_first_step(tx: Tx, access: Access, run: Claim, row: StepRow) -> int:
    """Record what a run that is heard just now is about to send first, without waiting; return its number."""
    tx.pipeline(_TABLE.insert, access, run_id=run.id, **_TABLE.values(row) | {"n": 1})
    return 1


def insert_step(tx: Tx, access: Access, run: Claim, row: StepRow) -> int:
    """Record what is about to be sent as a run's next step; return its number, which counts across all attempts."""
    inserted = tx.one(f"{_INSERT_NEXT} RETURNING n", access, run_id=run.id, **_TABLE.values(row))
    assert inserted is not None, "a step that is inserted has a number"
    return int(inserted[0])


def update_step(tx: Tx, access: Access, run: Claim, row: StepRow) -> None:
    """Replace what a step sends."""
    tx.run(_TABLE.update, access, run_id=run.id, **_TABLE.values(row))


def step_of(tx: Tx, access: Access, run_id: str, n: int) -> StepRow:
    """Return one step of a run, which must exist."""
    row = stored_step(tx, access, run_id, n)
    assert row is not None, "a step is recorded before it is taken"
    return row


def answer_step(tx: Tx, access: Access, run_id: str, n: int, output: str) -> None:
    """Record the answer to a step."""
    sql = f"UPDATE steps SET answered_at = :now, output = :output WHERE {_OF_RUN} AND n = :n"
    tx.pipeline(sql, access, run_id=run_id, n=n, output=output, now=tx.now)


def outputs_of(tx: Tx, access: Access, run_id: str, gateway: str) -> list[tuple[int, str]]:
    """Return what a run's steps at one kind of gateway were answered, by the number of the step."""
    sql = f"SELECT n, output FROM steps WHERE {_OF_RUN} AND gateway = :gateway AND output IS NOT NULL ORDER BY n"
    return [(row[0], row[1]) for row in tx.all(sql, access, run_id=run_id, gateway=gateway)]


def steps_of(tx: Tx, access: Access, run_id: str) -> list[StepRow]:
    """Return every step of a run, in order."""
    sql = f"SELECT {_TABLE.columns} FROM steps WHERE {_OF_RUN} ORDER BY n"
    return _TABLE.rows(tx.all(sql, access, run_id=run_id))


def stored_step(tx: Tx, access: Access, run_id: str, n: int) -> StepRow | None:
    """Return one step of a run, if it is still there."""
    row = tx.one(f"SELECT {_TABLE.columns} FROM steps WHERE {_OF_RUN} AND n = :n", access, run_id=run_id, n=n)
    return None if row is None else _TABLE.row(row)


# Steps that went to a gateway of one kind under one address.
_AT = f"{_OF_RUN} AND gateway = :gateway AND address = :address"


def answered_steps(tx: Tx, access: Access, run_id: str, gateway: str, address: str) -> set[int]:
    """Return the numbers of a run's steps that were answered there."""
    sql = f"SELECT n FROM steps WHERE {_AT} AND answered_at IS NOT NULL"
    return {row[0] for row in tx.all(sql, access, run_id=run_id, gateway=gateway, address=address)}


def is_answered(tx: Tx, access: Access, run_id: str, gateway: str, address: str) -> bool:
    """Return whether any step of a run was answered there."""
    sql = f"SELECT 1 FROM steps WHERE {_AT} AND answered_at IS NOT NULL LIMIT 1"
    return tx.one(sql, access, run_id=run_id, gateway=gateway, address=address) is not None


def lost_since(tx: Tx, access: Access, run_id: str, gateway: str, address: str) -> int | None:
    """Return when the first of the run's last unanswered steps there was sent; None if the last was answered."""
    newest = f"SELECT coalesce(max(n), 0) FROM steps WHERE {_AT} AND answered_at IS NOT NULL"
    sql = f"SELECT min(sent_at) FROM steps WHERE {_AT} AND body <> '' AND n > ({newest})"
    row = tx.one(sql, access, run_id=run_id, gateway=gateway, address=address)
    return row[0] if row else None


def newest_body(tx: Tx, access: Access, run_id: str, gateway: str, address: str) -> str:
    """Return what a run last sent there; empty if nothing."""
    sql = f"SELECT body FROM steps WHERE {_AT} AND body <> '' ORDER BY n DESC LIMIT 1"
    row = tx.one(sql, access, run_id=run_id, gateway=gateway, address=address)
    return row[0] if row else ""
