"""Webhooks about a run's changes: registering them, leasing them, and retrying after a failure.

Nothing is sent here; the surface takes webhooks, sends the changes, and reports the outcome.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from msgspec import structs

from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, clip, limits, not_found
from carrel.outbox import webhook_store
from carrel.outbox.webhook_store import WEBHOOKS, Webhook, WebhookAddress
from carrel.runs import RunChanged, hold_run, retry_delay_ms
from carrel.storage import Tx

_LEASE_MS = limits.WEBHOOK_LEASE_SECONDS * MS_PER_SECOND


def save_webhook(
    tx: Tx, access: Access, run_id: str, webhook_id: str, address: WebhookAddress, *, after: int | None = None
) -> Webhook:
    """Register an address for a run's changes after `after`, by default only new ones.

    This replaces a webhook of the same id and continues where it was, even if it had been given up.
    """
    # Locked, so that no change can happen between reading the run's newest change and storing the webhook.
    run = hold_run(tx, access, run_id)
    if run is None:
        raise not_found("run")
    known = webhook_store.webhooks_of_run(tx, access, run_id)
    same = next((webhook for webhook in known if webhook.id == webhook_id), None)
    if same is None and len(known) >= limits.WEBHOOKS_PER_RUN_MAX:
        message = f"A run has at most {limits.WEBHOOKS_PER_RUN_MAX} webhooks; delete one first."
        raise Refusal(Code.LIMIT_REACHED, message)
    sent = same.sent_change if same else run.changes if after is None else after
    webhook = Webhook(
        **structs.asdict(address),
        account_id=access.account_id,
        run_id=run_id,
        id=webhook_id,
        sent_change=sent,
        wanted_change=run.changes,
        due_at=tx.now if sent < run.changes else None,
        created_at=same.created_at if same else tx.now,
    )
    (webhook_store.replace_webhook if same else webhook_store.insert_webhook)(tx, access, webhook)
    if webhook.due_at is not None:
        tx.wake(WEBHOOKS)
    return webhook


def mark_webhooks_due(tx: Tx, changed: RunChanged) -> None:
    """Make the webhooks of a run due for its newest change."""
    run, change = changed.run, changed.change
    if change is not None and webhook_store.want_webhooks(tx, run.access, run.id, change):
        tx.wake(WEBHOOKS)


def saturated_hosts(busy: Mapping[str, int]) -> list[str]:
    """Return the hosts to which as many webhooks are being sent as allowed."""
    return [host for host, count in busy.items() if count >= limits.WEBHOOKS_PER_HOST_AT_A_TIME]


def take_webhooks(tx: Tx, busy: Mapping[str, int], limit: int) -> list[Webhook]:
    """Lease up to `limit` due webhooks across all accounts; `busy` counts those already being sent, by host."""
    in_flight = Counter(busy)
    taken: list[Webhook] = []
    claim = tx.new_id("whc")
    for webhook in webhook_store.due_webhooks(tx, limit, but=saturated_hosts(busy)):
        if in_flight[webhook.host] < limits.WEBHOOKS_PER_HOST_AT_A_TIME:
            in_flight[webhook.host] += 1
            taken.append(structs.replace(webhook, claim=claim, due_at=tx.now + _LEASE_MS))
    webhook_store.claim_webhooks(tx, taken)
    return taken


def webhook_sent(tx: Tx, webhook: Webhook, change: int) -> Webhook | None:
    """Record that a change was sent; return the webhook while more are left and the claim holds."""
    return webhook_store.note_told(tx, webhook.access, webhook, change, tx.now + _LEASE_MS)


def webhook_failed(tx: Tx, webhook: Webhook, reason: str, attempts_max: int) -> Literal["again", "given_up", "lost"]:
    """Record a failed attempt: it is retried later or given up; `lost` when the claim no longer holds."""
    attempt = webhook.attempt + 1
    is_last = attempt >= attempts_max
    noted = webhook_store.note_failed(
        tx,
        webhook.access,
        webhook,
        attempt=attempt,
        due_at=None if is_last else tx.now + retry_delay_ms(attempt, tx.chance()),
        given_up=clip(reason, limits.ERROR_CHARS_MAX) if is_last else None,
    )
    return "lost" if not noted else "given_up" if is_last else "again"
