"""What owners see of webhooks: the list with their health, deliveries, and previews."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, structs

from carrel.inbound import store
from carrel.inbound.deliveries import message_text, read_payload
from carrel.inbound.model import Arrival, DeliveryShape, Outcome
from carrel.inbound.webhooks import Webhook, Webhooks
from carrel.kernel import Access, Shape, iso, not_found
from carrel.storage import Tx


class WebhookShape(Shape, frozen=True, kw_only=True):
    """A webhook: where programs post to, what it does, and how that went.

    `refused` counts deliveries without a valid signature since the server started; nothing else is kept of them.
    """

    name: str
    kind: Literal["github", "linear", "slack", "json"]
    address: str
    action: Literal["message", "task"]
    target: str
    events: tuple[str, ...]
    done: int
    ignored: int
    failed: int
    last_received_at: str | None
    refused: int
    refused_reason: str | None
    refused_at: str | None


class DeliveryDetail(DeliveryShape, frozen=True, kw_only=True):
    """A delivery with its body, while it is kept."""

    payload: dict[str, Any] | None


class Preview(Shape, frozen=True, kw_only=True):
    """What a webhook would make of a delivery, without doing it. Without a `thread` it would stand alone."""

    event: str
    ignored_because: str | None
    action: Literal["message", "task"]
    target: str
    title: str
    text: str
    thread: str | None


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries to list; None matches everything."""

    webhook: str | None = None
    outcome: Outcome | None = None


def every_webhook(tx: Tx, access: Access, webhooks: Webhooks, base_url: str) -> list[WebhookShape]:
    """Return the webhooks of an account with their health."""
    tallies = store.tallies(tx, access)
    shapes = []
    for webhook in webhooks.of_account(access.account_slug):
        own = {tally.outcome: tally for tally in tallies if tally.webhook == webhook.name}
        counts = {outcome: own[outcome].count if outcome in own else 0 for outcome in ("done", "ignored", "failed")}
        refused = webhooks.refused(webhook.name)
        shapes.append(
            WebhookShape(
                name=webhook.name,
                kind=webhook.settings.kind,
                address=base_url + webhook.path,
                action=webhook.settings.action,
                target=target_of(webhook),
                events=webhook.events,
                last_received_at=iso(max((tally.last_at for tally in own.values()), default=None)),
                refused=refused.count,
                refused_reason=refused.reason,
                refused_at=iso(refused.at),
                **counts,
            )
        )
    return shapes


def target_of(webhook: Webhook) -> str:
    """Return in words what deliveries turn into."""
    settings = webhook.settings
    if settings.action == "message":
        agent = f"agent {settings.agent}" if settings.agent else "the default agent"
        return f"a message to {f'session {settings.session}' if settings.session else agent}"
    places = (
        f"in topic {settings.topic}" if settings.topic else f"in space {settings.space}" if settings.space else "",
        f"assigned to {settings.assignee}" if settings.assignee else "",
        f"with status {settings.status}" if settings.status else "",
    )
    return ", ".join(["a task", *filter(None, places)])


def deliveries_seen(
    tx: Tx, access: Access, wanted: DeliveryFilter, *, before: str | None, limit: int
) -> list[DeliveryShape]:  # fmt: skip
    """Return deliveries, newest first."""
    found = store.deliveries_newest_first(tx, access, structs.asdict(wanted), before=before, limit=limit)
    return [DeliveryShape.of_delivery(delivery) for delivery in found]


def find_delivery(tx: Tx, access: Access, delivery_id: str) -> DeliveryDetail:
    """Return one delivery with its body."""
    if (delivery := store.delivery_by_id(tx, access, delivery_id)) is None:
        raise not_found("delivery")
    raw = store.body_of(tx, access, delivery.id)
    return DeliveryDetail.of(delivery, session_key=delivery.key, payload=None if raw is None else read_payload(raw))


def preview(webhook: Webhook, event: str | None, payload: Mapping[str, Any] | None) -> Preview:
    """Return what a webhook would make of a delivery; without a payload, of its kind's sample."""
    usual_event, usual = webhook.kind.sample
    given = usual if payload is None else payload
    arrival = Arrival(event=event or usual_event, sender_id="", author="", by_bot=False, payload=given)
    rendered = webhook.render(arrival)
    return Preview(
        event=arrival.event,
        ignored_because=webhook.ignores(arrival),
        action=webhook.settings.action,
        target=target_of(webhook),
        title=rendered.title,
        text=message_text(webhook, arrival, rendered),
        thread=rendered.thread or None,
    )
