"""Receiving deliveries, each carried out once, and repeating failed ones."""

from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.access import account_by_slug
from carrel.inbound import store
from carrel.inbound.effects import carry_out
from carrel.inbound.model import Arrival, Delivery, Effect, Outcome
from carrel.inbound.webhooks import Webhook, Webhooks
from carrel.journal import About, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, clip, not_found, system_access
from carrel.kernel.limits import ERROR_CHARS_MAX
from carrel.notifications import OWNERS
from carrel.runs import Rules
from carrel.storage import Tx

# Another delivery about the same thing may have created its task at the same moment: the second try finds it.
_TRIES = 2


class _Attempt(Struct, frozen=True, kw_only=True):
    """The outcome of a delivery."""

    title: str
    outcome: Outcome
    reason: str | None = None
    effect: Effect = Effect()


def read_payload(raw: bytes) -> dict[str, Any]:
    """Return the body of a delivery; Refusal if it is not a JSON object."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(Code.INVALID_JSON, "The body of a delivery must be a JSON object.") from error


def receive(tx: Tx, webhook: Webhook, arrival: Arrival, raw: bytes, rules: Rules) -> str:
    """Carry out and store an authentic delivery in one transaction; return its id, the same for a copy."""
    access = _access_of(tx, webhook)
    delivery = Delivery(
        id=tx.new_id("whd"),
        webhook=webhook.name,
        sender_id=arrival.sender_id,
        digest=arrival.digest,
        event=arrival.event,
        author=arrival.author,
        by_bot=arrival.by_bot,
        title="",
        outcome="ignored",
        reason=None,
        task_id=None,
        run_id=None,
        key=None,
        attempts=0,
        received_at=tx.now,
        attempted_at=tx.now,
        has_body=True,
    )
    # Written first, so that a concurrent copy waits for the outcome of this one.
    if not store.insert_delivery(tx, access, delivery, raw):
        first = store.delivery_like(tx, access, webhook.name, arrival.sender_id, arrival.digest)
        assert first is not None, "only a delivery that is kept can be in the way"
        METRICS.count("webhooks.repeated.count", access.account_id, webhook=webhook.name)
        return first.id
    _attempt(tx, access, webhook, delivery, arrival, rules)
    return delivery.id


def repeat(tx: Tx, access: Access, webhooks: Webhooks, delivery_id: str, rules: Rules) -> Delivery:
    """Carry out a failed or ignored delivery again, with the current settings."""
    delivery = store.hold_delivery(tx, access, delivery_id)
    if delivery is None:
        raise not_found("delivery")
    if delivery.outcome == "done":
        raise Refusal(Code.CONFLICT, "This delivery was carried out; it cannot be done twice.")
    webhook, raw = webhooks.named(delivery.webhook, access.account_slug), store.body_of(tx, access, delivery.id)
    if webhook is None:
        message = f"The webhook {delivery.webhook} is no longer in the settings; name it there first."
        raise Refusal(Code.CONFLICT, message)
    if raw is None:
        raise Refusal(Code.CONFLICT, "The body of this delivery is no longer kept; let its sender send it anew.")
    arrival = Arrival(
        event=delivery.event,
        sender_id=delivery.sender_id,
        author=delivery.author,
        by_bot=delivery.by_bot,
        payload=read_payload(raw),
    )
    return _attempt(tx, _access_of(tx, webhook), webhook, delivery, arrival, rules)


def _access_of(tx: Tx, webhook: Webhook) -> Access:
    """Return the access with which a webhook acts: the system's, in its own name and in its own account."""
    slug = webhook.settings.account
    account = account_by_slug(tx, slug)
    if account is None:
        raise Refusal(Code.NOT_FOUND, f"webhooks.{webhook.name}.account: there is no account '{slug}'.")
    return structs.replace(system_access(account.id, account.slug), actor_id=webhook.actor_id, name=webhook.name)


def _attempt(
    tx: Tx, access: Access, webhook: Webhook, delivery: Delivery, arrival: Arrival, rules: Rules
) -> Delivery:  # fmt: skip
    done = _carried_out(tx, access, webhook, arrival, rules)
    METRICS.count("webhooks.deliveries.count", access.account_id, webhook=webhook.name, outcome=done.outcome)
    noted = structs.replace(
        delivery,
        **structs.asdict(done.effect),
        title=done.title,
        outcome=done.outcome,
        reason=done.reason,
        attempts=delivery.attempts + 1,
        attempted_at=tx.now,
    )
    store.note_attempt(tx, access, noted)
    told = {"deliveryId": noted.id, "webhook": noted.webhook, "event": noted.event, "outcome": noted.outcome}
    append_event(tx, access, "webhook.delivered", About(), json_text(told), recipient=OWNERS)
    return noted


def _carried_out(tx: Tx, access: Access, webhook: Webhook, arrival: Arrival, rules: Rules) -> _Attempt:
    rendered = webhook.render(arrival)
    reason = webhook.ignores(arrival)
    if reason is not None:
        return _Attempt(title=rendered.title, outcome="ignored", reason=reason)
    message = ""
    for _ in range(_TRIES):
        try:
            effect = tx.attempt(lambda: carry_out(tx, access, webhook, arrival, rendered, rules))
            return _Attempt(title=rendered.title, outcome="done", effect=effect)
        except Refusal as refusal:
            message = refusal.message
            if refusal.code is not Code.CONFLICT:
                break
    return _Attempt(title=rendered.title, outcome="failed", reason=clip(message, ERROR_CHARS_MAX))
