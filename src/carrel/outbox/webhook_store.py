"""The SQL of webhooks: who else is told of a run's changes, and how far that has come. It writes what was decided."""

from collections.abc import Collection

from msgspec import Struct

from carrel.kernel import Access, system_access
from carrel.storage import Row, Tx

# Rung when a webhook has something to be told.
WEBHOOKS = "webhooks"
_OF_RUN = "account_id = :account AND run_id = :run_id"
_ONE = f"{_OF_RUN} AND id = :id"


class WebhookAddress(Struct, frozen=True, kw_only=True):
    """Where to post, and by what the receiver knows that it is us."""

    url: str
    # The host with its port: what is slow for one webhook is slow for all that share it.
    host: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""


class Webhook(WebhookAddress, frozen=True, kw_only=True):
    """An address that is told of a run's changes; its fields are the columns of its table."""

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
        """The house's access to the webhook's account."""
        return system_access(self.account_id)


_NAMES = Webhook.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_INSERT = f"INSERT INTO webhooks ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"
_KEY = ("account_id", "run_id", "id")
_REPLACE = (
    f"UPDATE webhooks SET {', '.join(f'{name} = :{name}' for name in _NAMES if name not in _KEY)} "
    f"WHERE {' AND '.join(f'{name} = :{name}' for name in _KEY)}"
)


def _webhook(row: Row) -> Webhook:
    return Webhook(**dict(zip(_NAMES, row, strict=True)))


def _values(webhook: Webhook) -> dict[str, object]:
    return {name: getattr(webhook, name) for name in _NAMES}


def want_webhooks(tx: Tx, access: Access, run_id: str, change: int) -> bool:
    """Say that a run has come to a change; whether anybody is to be told of it."""
    told = tx.run(
        "UPDATE webhooks SET wanted_change = :change, due_at = COALESCE(due_at, :now) "
        f"WHERE {_OF_RUN} AND given_up IS NULL",
        account=access.account_id,
        run_id=run_id,
        change=change,
        now=tx.now,
    )
    return told > 0


def insert_webhook(tx: Tx, access: Access, webhook: Webhook) -> None:
    """Write a new webhook."""
    tx.run(_INSERT, **_values(webhook) | {"account_id": access.account_id})


def replace_webhook(tx: Tx, access: Access, webhook: Webhook) -> None:
    """Write a webhook over the one of the same id; whoever is at that one can note nothing more."""
    tx.run(_REPLACE, **_values(webhook) | {"account_id": access.account_id})


def webhook_by_id(tx: Tx, access: Access, run_id: str, webhook_id: str) -> Webhook | None:
    """One webhook of a run."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM webhooks WHERE {_ONE}", account=access.account_id, run_id=run_id, id=webhook_id
    )
    return None if row is None else _webhook(row)


def webhooks_of_run(tx: Tx, access: Access, run_id: str) -> list[Webhook]:
    """All webhooks of a run, oldest first; their number is bounded."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM webhooks WHERE {_OF_RUN} ORDER BY created_at, id",
        account=access.account_id,
        run_id=run_id,
    )
    return [_webhook(row) for row in rows]


def delete_webhook(tx: Tx, access: Access, run_id: str, webhook_id: str) -> bool:
    """Tell a webhook nothing more; whether it was there."""
    found = tx.run(f"DELETE FROM webhooks WHERE {_ONE}", account=access.account_id, run_id=run_id, id=webhook_id)
    return found > 0


def due_webhooks(tx: Tx, limit: int, *, but: Collection[str] = ()) -> list[Webhook]:
    """Webhooks with something to tell and nobody at it, of whatever account, the longest due first; holds them.

    Hosts in `but` are left out.
    """
    others, hosts = _others(but)
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM webhooks WHERE due_at <= :now{others} ORDER BY due_at LIMIT :limit "
        "FOR UPDATE SKIP LOCKED",
        now=tx.now,
        limit=limit,
        **hosts,
    )
    return [_webhook(row) for row in rows]


def next_webhook_due(tx: Tx, *, but: Collection[str] = ()) -> int | None:
    """When the next webhook of another host than those is due, in whatever account."""
    others, hosts = _others(but)
    row = tx.one(f"SELECT due_at FROM webhooks WHERE due_at IS NOT NULL{others} ORDER BY due_at LIMIT 1", **hosts)
    return None if row is None else int(row[0])


def _others(but: Collection[str]) -> tuple[str, dict[str, object]]:
    hosts: dict[str, object] = {f"host_{n}": host for n, host in enumerate(but)}
    return (f" AND host NOT IN ({', '.join(f':{name}' for name in hosts)})" if hosts else ""), hosts


def claim_webhooks(tx: Tx, held: list[Webhook]) -> None:
    """Write the claims of webhooks that this transaction holds."""
    if held:
        tx.run_many(
            "UPDATE webhooks SET claim = :claim, due_at = :due_at WHERE account_id = :account_id AND run_id = :run_id "
            "AND id = :id",
            [{name: getattr(webhook, name) for name in (*_KEY, "claim", "due_at")} for webhook in held],
        )


def release_webhooks(tx: Tx) -> int:
    """End every claim now: for the only server of a store, which has just started and is at none."""
    return tx.run(
        "UPDATE webhooks SET claim = NULL, due_at = :now WHERE due_at > :now AND claim IS NOT NULL", now=tx.now
    )


def note_told(tx: Tx, access: Access, webhook: Webhook, change: int, lease_until: int) -> Webhook | None:
    """Note that a webhook was told of a change, and stay at it while there is more; None when there is not.

    None as well when the claim is over. What was told meanwhile is seen by the very statement that would let go.
    """
    row = tx.one(
        "UPDATE webhooks SET sent_change = :change, attempt = 0, "
        "due_at = CASE WHEN :change < wanted_change THEN :lease_until ELSE NULL END, "
        "claim = CASE WHEN :change < wanted_change THEN claim ELSE NULL END "
        f"WHERE {_ONE} AND claim = :claim RETURNING {_COLUMNS}",
        account=access.account_id,
        run_id=webhook.run_id,
        id=webhook.id,
        claim=webhook.claim,
        change=change,
        lease_until=lease_until,
    )
    noted = None if row is None else _webhook(row)
    return noted if noted is not None and noted.claim is not None else None


def note_failed(
    tx: Tx, access: Access, webhook: Webhook, *, attempt: int, due_at: int | None, given_up: str | None
) -> bool:
    """Note a failed attempt and let go until the next one; False, with nothing written, when the claim is over."""
    noted = tx.run(
        "UPDATE webhooks SET attempt = :attempt, due_at = :due_at, given_up = :given_up, claim = NULL "
        f"WHERE {_ONE} AND claim = :claim",
        account=access.account_id,
        run_id=webhook.run_id,
        id=webhook.id,
        claim=webhook.claim,
        attempt=attempt,
        due_at=due_at,
        given_up=given_up,
    )
    return noted > 0
