"""The SQL of what senders add to turns."""

from carrel.kernel import Access, TurnExtras
from carrel.storage import Tx, json_column

_BODY = json_column(TurnExtras)


def keep_extras(tx: Tx, access: Access, run_id: str, extras: TurnExtras) -> None:
    """Keep what a run's sender adds to its turn, replacing what it added before."""
    sql = (
        "INSERT INTO turn_extras (account_id, run_id, body) VALUES (:account, :run_id, :body) "
        "ON CONFLICT (account_id, run_id) DO UPDATE SET body = :body"
    )
    tx.run(sql, access, run_id=run_id, body=_BODY.encode(extras))
    tx.run("UPDATE runs SET extras = 1 WHERE account_id = :account AND id = :id AND extras = 0", access, id=run_id)


def extras_of(tx: Tx, access: Access, run_id: str) -> TurnExtras:
    """Return what a run's sender adds to its turn."""
    sql = "SELECT body FROM turn_extras WHERE account_id = :account AND run_id = :run_id"
    row = tx.one(sql, access, run_id=run_id)
    return TurnExtras() if row is None else _BODY.decode(row[0])
