"""Webhooks of other programs: posts are checked, carried out once, and kept with their outcome."""

from carrel.inbound.deliveries import read_payload, receive, repeat
from carrel.inbound.model import DeliveryShape, Outcome
from carrel.inbound.overview import (
    DeliveryDetail,
    DeliveryFilter,
    Preview,
    WebhookShape,
    deliveries_seen,
    every_webhook,
    find_delivery,
    preview,
)
from carrel.inbound.store import prune_deliveries
from carrel.inbound.webhooks import PATH, Webhooks

__all__ = [
    "PATH", "DeliveryDetail", "DeliveryFilter", "DeliveryShape", "Outcome", "Preview", "WebhookShape", "Webhooks",
    "deliveries_seen", "every_webhook", "find_delivery", "preview", "prune_deliveries", "read_payload", "receive",
    "repeat",
]  # fmt: skip
