"""The SQL of what senders add to turns."""

import msgspec

from carrel.kernel import Access, TurnExtras
from carrel.storage import Tx

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TurnExtras).decode


def keep_extras(tx: Tx, access: Access, run_id: str, extras: TurnExtras) -> None:
    """Keep what a run's sender adds to its turn, in place of what it added before."""
    tx.run(
        "INSERT INTO turn_extras (account_id, run_id, body) VALUES (:account, :run_id, :body) "
        "ON CONFLICT (account_id, run_id) DO UPDATE SET body = :body",
        account=access.account_id,
        run_id=run_id,
        body=_encode(extras).decode(),
    )
    tx.run(
        "UPDATE runs SET extras = 1 WHERE account_id = :account AND id = :run_id AND extras = 0",
        account=access.account_id,
        run_id=run_id,
    )


def extras_of(tx: Tx, access: Access, run_id: str) -> TurnExtras:
    """What a run's sender adds to its turn."""
    row = tx.one(
        "SELECT body FROM turn_extras WHERE account_id = :account AND run_id = :run_id",
        account=access.account_id,
        run_id=run_id,
    )
    return TurnExtras() if row is None else _decode(row[0])
