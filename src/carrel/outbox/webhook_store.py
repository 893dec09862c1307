"""The SQL of webhooks: who is notified of a run's changes, and how far. It makes no decisions."""

from collections.abc import Collection

from msgspec import Struct

from carrel.kernel import Access, system_access
from carrel.storage import Table, Tx, in_list

# Rung when a webhook has something to send.
WEBHOOKS = "webhooks"
_OF_RUN = "account_id = :account AND run_id = :run_id"
_ONE = f"{_OF_RUN} AND id = :id"


class WebhookAddress(Struct, frozen=True, kw_only=True):
    """Where to post, how the receiver authenticates us, and which version of A2A it expects."""

    url: str
    # The host with its port: if it is slow for one webhook, it is slow for all that share it.
    host: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    protocol: str = "1.0"


class Webhook(WebhookAddress, frozen=True, kw_only=True):
    """An address that is notified of a run's changes; its fields are the columns of its table."""

    account_id: str
    run_id: str
    id: str
    sent_change: int
    wanted_change: int
    created_at: int
    attempt: int = 0
    due_at: int | None = None
    claim: str | None = None
    given_up: str | None = None

    @property
    def access(self) -> Access:
        """The system's access to the webhook's account."""
        return system_access(self.account_id)


_TABLE = Table("webhooks", Webhook, key=("account_id", "run_id", "id"))


def want_webhooks(tx: Tx, access: Access, run_id: str, change: int) -> bool:
    """Record that a run has reached a change; True if a webhook has to be notified."""
    sql = (
        "UPDATE webhooks SET wanted_change = :change, due_at = COALESCE(due_at, :now) "
        f"WHERE {_OF_RUN} AND given_up IS NULL"
    )
    return tx.run(sql, access, run_id=run_id, change=change, now=tx.now) > 0


def insert_webhook(tx: Tx, access: Access, webhook: Webhook) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(webhook))


def replace_webhook(tx: Tx, access: Access, webhook: Webhook) -> None:
    """Overwrite the webhook with the same id, which ends any claim on it."""
    tx.run(_TABLE.update, access, **_TABLE.values(webhook))


def webhook_by_id(tx: Tx, access: Access, run_id: str, webhook_id: str) -> Webhook | None:
    """Return one webhook of a run."""
    return _TABLE.row(tx.one(f"{_TABLE.select} WHERE {_ONE}", access, run_id=run_id, id=webhook_id))


def webhooks_of_run(tx: Tx, access: Access, run_id: str) -> list[Webhook]:
    """Return all webhooks of a run, oldest first; their number is limited."""
    return _TABLE.rows(tx.all(f"{_TABLE.select} WHERE {_OF_RUN} ORDER BY created_at, id", access, run_id=run_id))


def delete_webhook(tx: Tx, access: Access, run_id: str, webhook_id: str) -> bool:
    """Delete a webhook; False when there was none."""
    return tx.run(f"DELETE FROM webhooks WHERE {_ONE}", access, run_id=run_id, id=webhook_id) > 0


def due_webhooks(tx: Tx, limit: int, *, but: Collection[str] = ()) -> list[Webhook]:
    """Lock and return webhooks with something to send, of all accounts but no host in `but`, longest due first."""
    others, hosts = _others(but)
    sql = f"{_TABLE.select} WHERE due_at <= :now{others} ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED"
    return _TABLE.rows(tx.all(sql, now=tx.now, limit=limit, **hosts))


def next_webhook_due(tx: Tx, *, but: Collection[str] = ()) -> int | None:
    """Return when the next webhook is due, across all accounts; hosts in `but` are left out."""
    others, hosts = _others(but)
    return tx.value(f"SELECT due_at FROM webhooks WHERE due_at IS NOT NULL{others} ORDER BY due_at LIMIT 1", **hosts)


def _others(but: Collection[str]) -> tuple[str, dict[str, object]]:
    listed, hosts = in_list("host", but)
    return (f" AND host NOT IN ({listed})" if hosts else ""), hosts


def claim_webhooks(tx: Tx, held: list[Webhook]) -> None:
    """Write the claims of webhooks that this transaction has locked."""
    sql = (
        "UPDATE webhooks SET claim = :claim, due_at = :due_at WHERE account_id = :account_id AND run_id = :run_id "
        "AND id = :id"
    )
    if held:
        tx.run_many(sql, [_TABLE.values(webhook) for webhook in held])


def release_webhooks(tx: Tx) -> int:
    """End every claim: for the only server of a store at its start, when it holds none."""
    sql = "UPDATE webhooks SET claim = NULL, due_at = :now WHERE due_at > :now AND claim IS NOT NULL"
    return tx.run(sql, now=tx.now)


def note_told(tx: Tx, access: Access, webhook: Webhook, change: int, lease_until: int) -> Webhook | None:
    """Record that a change was sent and keep the claim while there is more to send; otherwise return None.

    Also None if the claim is over. The statement that would release the claim also sees later changes.
    """
    sql = (
        "UPDATE webhooks SET sent_change = :change, attempt = 0, "
        "due_at = CASE WHEN :change < wanted_change THEN :lease_until ELSE NULL END, "
        "claim = CASE WHEN :change < wanted_change THEN claim ELSE NULL END "
        f"WHERE {_ONE} AND claim = :claim RETURNING {_TABLE.columns}"
    )
    noted = _TABLE.row(tx.one(sql, access, change=change, lease_until=lease_until, **_TABLE.values(webhook)))
    return noted if noted is not None and noted.claim is not None else None


def note_failed(
    tx: Tx, access: Access, webhook: Webhook, *, attempt: int, due_at: int | None, given_up: str | None
) -> bool:
    """Record a failed attempt and end the claim; False, with nothing written, if the claim was over."""
    sql = (
        "UPDATE webhooks SET attempt = :attempt, due_at = :due_at, given_up = :given_up, claim = NULL "
        f"WHERE {_ONE} AND claim = :claim"
    )
    failed = {"attempt": attempt, "due_at": due_at, "given_up": given_up}
    return tx.run(sql, access, **_TABLE.values(webhook) | failed) > 0
