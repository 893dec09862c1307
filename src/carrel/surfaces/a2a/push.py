"""Pushing: posts every change of a task to its webhooks, in order and at least once, beside the turns and never in one.

How far each webhook has come stands in the store, so a restart goes on where the last server stood, and several
servers share the work. A webhook that answers slowly takes a place of its own host, and nobody else's.
"""

from collections import Counter
from functools import partial
from logging import getLogger

import msgspec

from carrel.journal import changes_of_run
from carrel.kernel import METRICS, Refusal, log_trouble
from carrel.kernel.limits import WEBHOOK_SECONDS_MAX, WEBHOOKS_AT_A_TIME
from carrel.kernel.settings import A2aPushSettings
from carrel.outbox import (
    WEBHOOKS,
    Webhook,
    next_webhook_due,
    release_webhooks,
    saturated_hosts,
    take_webhooks,
    webhook_failed,
    webhook_sent,
)
from carrel.runs import run_by_id
from carrel.storage import Database, LeasedDuty, Tx
from carrel.surfaces.a2a.task_view import updates
from carrel.wire import Wire, WireFault

_log = getLogger("carrel.a2a")


class _NotTaken(Exception):
    """The receiver answered, and did not take what was posted."""


class PushDuty(LeasedDuty[Webhook]):
    """Tells the webhooks of one store; several servers may do so side by side."""

    name = "webhooks"
    bell = WEBHOOKS
    items_max = WEBHOOKS_AT_A_TIME

    def __init__(self, db: Database, wire: Wire, settings: A2aPushSettings) -> None:
        super().__init__(db)
        self._wire = wire
        self._settings = settings

    def release(self, tx: Tx) -> object:
        """End every claim of a server that is gone."""
        return release_webhooks(tx)

    def next_due(self, tx: Tx) -> int | None:
        """When a webhook is next due at a host that has room for another."""
        return next_webhook_due(tx, but=saturated_hosts(self._hosts()))

    def take(self, tx: Tx, limit: int) -> list[Webhook]:
        """Webhooks that have something to be told, so many of each host as may be."""
        return take_webhooks(tx, self._hosts(), limit)

    async def do(self, item: Webhook) -> None:
        """Tell one webhook everything that is left to tell."""
        held: Webhook | None = item
        while held is not None:
            held = await self._tell(held)

    def _hosts(self) -> Counter[str]:
        """How many webhooks of each host are being told."""
        return Counter(webhook.host for webhook in list(self.busy))

    async def _tell(self, webhook: Webhook) -> Webhook | None:
        """Tell a webhook of the next change; the webhook while there is more and it is still ours."""
        try:
            change, body = await self.db.read(partial(_next_update, webhook=webhook))
            if body is not None:
                await self._post(webhook, body)
        except (WireFault, _NotTaken) as fault:
            await self._fail(webhook, str(fault))
            return None
        except Refusal:
            raise
        except Exception as error:  # boundary: what cannot be told is a failed attempt too, and not tried for ever
            log_trouble(_log, "webhook_broke_off", error, run_id=webhook.run_id)
            await self._fail(webhook, f"It broke off here: {type(error).__name__}.")
            return None
        return await self.db.write(lambda tx: webhook_sent(tx, webhook, change))

    async def _post(self, webhook: Webhook, body: bytes) -> None:
        async with self._wire.stream(
            "POST",
            webhook.url,
            headers=_headers(webhook),
            body=body,
            timeout_seconds=WEBHOOK_SECONDS_MAX,
            public_only=not self._settings.allow_private_addresses,
        ) as reply:
            await reply.drain()
        if not 200 <= reply.status < 300:
            raise _NotTaken(f"The receiver answered {reply.status}.")
        METRICS.count("webhooks.told.count")

    async def _fail(self, webhook: Webhook, reason: str) -> None:
        came_to = await self.db.write(lambda tx: webhook_failed(tx, webhook, reason, self._settings.attempts_max))
        METRICS.count("webhooks.failed.count")
        told = {"run_id": webhook.run_id, "host": webhook.host, "attempt": webhook.attempt + 1, "error": reason}
        if came_to == "given_up":
            METRICS.count("webhooks.given_up.count")
            _log.warning("webhook_given_up", extra=told)
        else:
            _log.info("webhook_failed", extra=told)


def _next_update(tx: Tx, webhook: Webhook) -> tuple[int, bytes | None]:
    """The first change that the webhook was not told of, and what it is told; None when that is nothing."""
    run = run_by_id(tx, webhook.access, webhook.run_id)
    found = changes_of_run(tx, webhook.access, webhook.run_id, webhook.sent_change, limit=1)
    if run is None or not found:
        # The feed does not reach back so far any more.
        return webhook.wanted_change, None
    change, event = found[0]
    for number, update in updates(tx, webhook.access, run, change, event):
        if number > webhook.sent_change:
            return number, msgspec.json.encode(update)
    return change, None


def _headers(webhook: Webhook) -> dict[str, str]:
    headers = {"Content-Type": "application/a2a+json"}
    if webhook.token:
        headers["X-A2A-Notification-Token"] = webhook.token
    if webhook.credentials:
        headers["Authorization"] = f"{webhook.scheme} {webhook.credentials}"
    return headers
