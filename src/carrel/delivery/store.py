"""The SQL of receipts: one row for each step of a turn."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import Claim
from carrel.storage import Tx


class StepRow(Struct, frozen=True):
    """One step as it was sent, and what came back."""

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


_FIELDS = StepRow.__struct_fields__


def insert_step(tx: Tx, access: Access, run: Claim, row: StepRow) -> None:
    """Keep what is about to be sent."""
    tx.run(
        f"INSERT INTO steps (account_id, run_id, {', '.join(_FIELDS)}) "
        f"VALUES (:account, :run_id, {', '.join(f':{name}' for name in _FIELDS)})",
        account=access.account_id,
        run_id=run.id,
        **{name: getattr(row, name) for name in _FIELDS},
    )


def next_step(tx: Tx, access: Access, run_id: str) -> int:
    """The number of a run's next step, from 1, over all its attempts."""
    row = tx.one(
        "SELECT max(n) FROM steps WHERE account_id = :account AND run_id = :run_id",
        account=access.account_id,
        run_id=run_id,
    )
    return ((row[0] if row else None) or 0) + 1


def answer_step(tx: Tx, access: Access, run_id: str, n: int, output: str) -> None:
    """Keep what came back."""
    tx.run(
        "UPDATE steps SET answered_at = :now, output = :output "
        "WHERE account_id = :account AND run_id = :run_id AND n = :n",
        account=access.account_id,
        run_id=run_id,
        n=n,
        output=output,
        now=tx.now,
    )


def steps_of(tx: Tx, access: Access, run_id: str) -> list[StepRow]:
    """Every step of a run, in order."""
    rows = tx.all(
        f"SELECT {', '.join(_FIELDS)} FROM steps WHERE account_id = :account AND run_id = :run_id ORDER BY n",
        account=access.account_id,
        run_id=run_id,
    )
    return [StepRow(*row) for row in rows]
