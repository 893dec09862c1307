"""Webhooks of other programs as their owner sees them: addresses, deliveries and outcomes."""

from typing import Annotated, Any

from msgspec import Meta

from carrel import inbound
from carrel.kernel import Access, Input, not_found
from carrel.kernel.fields import Name
from carrel.kernel.limits import WEBHOOK_EVENT_CHARS_MAX
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import PageQuery, paged_by_id
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, endpoint


class DeliveryQuery(PageQuery, frozen=True, kw_only=True):
    """Which deliveries: of a webhook, and with an outcome."""

    webhook: Name | None = None
    outcome: inbound.Outcome | None = None


class WebhookTest(Input, frozen=True, kw_only=True):
    """An event and a body to try; by default, what the program usually sends."""

    event: Annotated[str, Meta(min_length=1, max_length=WEBHOOK_EVENT_CHARS_MAX)] | None = None
    payload: dict[str, Any] | None = None


@endpoint("GET", inbound.PATH, "webhooks", who=OWNER)
def list_webhooks(call: Call[None, NoQuery], tx: LongTx, access: Access) -> Page[inbound.WebhookShape]:
    """List this account's webhooks from the settings, with their state."""
    return Page(
        inbound.every_webhook(tx, access, call.services.webhooks, call.services.base_url(call.request.base_url))
    )


@endpoint("GET", f"{inbound.PATH}/deliveries", "deliveries", who=OWNER)
def list_deliveries(call: Call[None, DeliveryQuery], tx: LongTx, access: Access) -> Page[inbound.DeliveryShape]:
    """List what was delivered to webhooks and what became of it, the newest first."""
    wanted = inbound.DeliveryFilter(webhook=call.query.webhook, outcome=call.query.outcome)
    return paged_by_id(
        call.query, lambda before, most: inbound.deliveries_seen(tx, access, wanted, before=before, limit=most)
    )  # fmt: skip


@endpoint("GET", f"{inbound.PATH}/deliveries/{{id}}", "delivery", who=OWNER)
def get_delivery(call: Call[None, NoQuery], tx: LongTx, access: Access) -> inbound.DeliveryDetail:
    """Return one delivery with its body, while that is kept."""
    return inbound.find_delivery(tx, access, call.path("id"))


@endpoint("POST", f"{inbound.PATH}/deliveries/{{id}}/redeliver", "delivery", who=OWNER, new_work=True)
def redeliver(call: Call[None, NoQuery], tx: Tx, access: Access) -> inbound.DeliveryShape:
    """Carry out a failed or ignored delivery again, with the current settings; nothing is done twice."""
    found = inbound.repeat(tx, access, call.services.webhooks, call.path("id"), call.services.rules)
    return inbound.DeliveryShape.of_delivery(found)


@endpoint("POST", f"{inbound.PATH}/{{name}}/test", "preview", who=OWNER)
async def try_webhook(call: Call[WebhookTest, NoQuery]) -> inbound.Preview:
    """Show what a webhook would do with a delivery, without doing it."""
    webhook = call.services.webhooks.named(call.path("name"), call.access.account_slug)
    if webhook is None:
        raise not_found("webhook")
    return inbound.preview(webhook, call.body.event, call.body.payload)
