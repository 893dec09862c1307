"""The SQL of deliveries."""

from collections.abc import Mapping

from msgspec import Struct

from carrel.inbound.model import Delivery, Outcome
from carrel.kernel import MS_PER_DAY, Access, limits
from carrel.storage import FLAG, Table, Tx

_TABLE = Table("webhook_deliveries", Delivery, also=("body",), codecs={"by_bot": FLAG, "has_body": FLAG})
_ONE = "account_id = :account AND id = :id"
_SELECT = f"{_TABLE.select} WHERE account_id = :account"


class Tally(Struct, frozen=True):
    """How many deliveries of a webhook had which outcome, and when the last one was received."""

    webhook: str
    outcome: Outcome
    count: int
    last_at: int


def insert_delivery(tx: Tx, access: Access, delivery: Delivery, body: bytes) -> bool:
    """Write a new delivery; False if it is known already. Waits for other servers' transactions."""
    return tx.run(f"{_TABLE.insert} ON CONFLICT DO NOTHING", access, **_TABLE.values(delivery), body=body.decode()) > 0


def delivery_like(tx: Tx, access: Access, webhook: str, sender_id: str, digest: str | None) -> Delivery | None:
    """Return the delivery with this sender's id or this body."""
    sql = f"{_SELECT} AND webhook = :webhook AND (sender_id = :sender_id OR digest = :digest) ORDER BY id LIMIT 1"
    return _TABLE.row(tx.one(sql, access, webhook=webhook, sender_id=sender_id, digest=digest))


def hold_delivery(tx: Tx, access: Access, delivery_id: str) -> Delivery | None:
    return _TABLE.row(tx.one(f"{_SELECT} AND id = :id FOR UPDATE", access, id=delivery_id))


def delivery_by_id(tx: Tx, access: Access, delivery_id: str) -> Delivery | None:
    return _TABLE.row(tx.one(f"{_SELECT} AND id = :id", access, id=delivery_id))


def body_of(tx: Tx, access: Access, delivery_id: str) -> bytes | None:
    """Return the body of a delivery; None if it is no longer kept."""
    row = tx.one(f"SELECT body FROM webhook_deliveries WHERE {_ONE}", access, id=delivery_id)
    return None if row is None or row[0] is None else str(row[0]).encode()


def note_attempt(tx: Tx, access: Access, delivery: Delivery) -> None:
    sql = (
        "UPDATE webhook_deliveries SET title = :title, outcome = :outcome, reason = :reason, task_id = :task_id, "
        "run_id = :run_id, key = :key, attempts = :attempts, attempted_at = :attempted_at "
        f"WHERE {_ONE}"
    )
    tx.run(sql, access, **_TABLE.values(delivery))


def deliveries_newest_first(
    tx: Tx, access: Access, given: Mapping[str, str | None], *, before: str | None, limit: int
) -> list[Delivery]:  # fmt: skip
    """Return deliveries below an id, newest first, optionally with the given values of some columns."""
    only = "".join(f" AND {name} = :{name}" for name, value in given.items() if value is not None)
    sql = f"{_SELECT}{only}{' AND id < :before' if before else ''} ORDER BY id DESC LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, **given, before=before, limit=limit))


def tallies(tx: Tx, access: Access) -> list[Tally]:
    """Count stored deliveries by webhook and outcome."""
    sql = (
        "SELECT webhook, outcome, count(*), max(received_at) FROM webhook_deliveries "
        "WHERE account_id = :account GROUP BY webhook, outcome"
    )
    return [Tally(*row) for row in tx.all(sql, access)]


def prune_deliveries(tx: Tx, access: Access) -> int:
    """Delete a batch of old or excess deliveries, and all but the newest bodies; return how many."""
    old = tx.now - limits.WEBHOOK_DELIVERIES_KEPT_DAYS * MS_PER_DAY
    aged = "SELECT id FROM webhook_deliveries WHERE account_id = :account AND received_at < :old LIMIT :limit"
    sql = f"DELETE FROM webhook_deliveries WHERE account_id = :account AND id IN ({aged})"
    removed = tx.run(sql, access, old=old, limit=limits.PRUNE_ROWS_MAX)
    for (webhook,) in tx.all("SELECT DISTINCT webhook FROM webhook_deliveries WHERE account_id = :account", access):
        removed += _prune_one(tx, access, str(webhook))
    return removed


def _prune_one(tx: Tx, access: Access, webhook: str) -> int:
    changes = (
        (limits.WEBHOOK_DELIVERIES_KEPT_MAX, "", "DELETE FROM webhook_deliveries"),
        (limits.WEBHOOK_BODIES_KEPT_MAX, "AND has_body = 1", "UPDATE webhook_deliveries SET body = NULL, has_body = 0"),
    )
    removed = 0
    for keep, only, change in changes:
        beyond = (
            f"SELECT id FROM webhook_deliveries WHERE account_id = :account AND webhook = :webhook {only} "
            "ORDER BY id DESC LIMIT :limit OFFSET :keep"
        )
        sql = f"{change} WHERE account_id = :account AND id IN ({beyond})"
        removed += tx.run(sql, access, webhook=webhook, limit=limits.PRUNE_ROWS_MAX, keep=keep)
    return removed
