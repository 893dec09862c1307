"""A2A push delivery: posts every change of a task to its webhooks, in order and at least once, outside of turns.

The store keeps how far each webhook has got, so a restarted server continues there and several servers share the work.
Each host has its own limit of concurrent webhooks, so a slow one holds up no other.
"""

from collections import Counter
from functools import partial
from logging import getLogger

import msgspec
from msgspec import structs

from carrel.journal import changes_of_run
from carrel.kernel import METRICS, Access, Refusal, iso, log_trouble
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
from carrel.runs import Run, run_by_id
from carrel.storage import Database, LeasedDuty, Tx
from carrel.surfaces.a2a.legacy import conversions
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.task_json import WORKING, Detail, task_json, updates_of_event
from carrel.wire import Wire, WireFault

_log = getLogger("carrel.a2a")


class _NotAccepted(Exception):
    """The receiver responded with something other than success."""


class PushDuty(LeasedDuty[Webhook]):
    """Delivers to the webhooks of one store; several servers may do so side by side."""

    name = "webhooks"
    bell = WEBHOOKS
    items_max = WEBHOOKS_AT_A_TIME

    def __init__(self, db: Database, wire: Wire, settings: A2aPushSettings) -> None:
        super().__init__(db)
        self._wire = wire
        self._settings = settings

    def release(self, tx: Tx) -> object:
        return release_webhooks(tx)

    def next_due(self, tx: Tx) -> int | None:
        """Return when a webhook is next due at a host that is not at its limit."""
        return next_webhook_due(tx, but=saturated_hosts(self._hosts()))

    def take(self, tx: Tx, limit: int) -> list[Webhook]:
        """Lease webhooks with undelivered changes, up to the limit of each host."""
        return take_webhooks(tx, self._hosts(), limit)

    async def do(self, item: Webhook) -> None:
        held: Webhook | None = item
        while held is not None:
            held = await self._deliver_next(held)

    def _hosts(self) -> Counter[str]:
        """Return how many webhooks of each host are being delivered to."""
        return Counter(webhook.host for webhook in list(self.busy))

    async def _deliver_next(self, webhook: Webhook) -> Webhook | None:
        """Deliver the next change; return the webhook while there is more and the lease is still ours."""
        try:
            change, body = await self.db.read(partial(_next_update, webhook=webhook))
            if body is not None:
                await self._post(webhook, body)
        except (WireFault, _NotAccepted) as fault:
            await self._fail(webhook, str(fault))
            return None
        except Refusal:
            raise
        except Exception as error:  # boundary: any other failure is a failed attempt too, and not retried forever
            log_trouble(_log, "webhook_broke_off", error, run_id=webhook.run_id)
            await self._fail(webhook, f"Delivery failed on this server: {type(error).__name__}.")
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
            raise _NotAccepted(f"The receiver responded with {reply.status}.")
        METRICS.count("webhooks.told.count", webhook.account_id)

    async def _fail(self, webhook: Webhook, reason: str) -> None:
        outcome = await self.db.write(lambda tx: webhook_failed(tx, webhook, reason, self._settings.attempts_max))
        METRICS.count("webhooks.failed.count", webhook.account_id)
        about = {"run_id": webhook.run_id, "host": webhook.host, "attempt": webhook.attempt + 1, "error": reason}
        if outcome == "given_up":
            METRICS.count("webhooks.given_up.count", webhook.account_id)
            _log.warning("webhook_given_up", extra=about)
        else:
            _log.info("webhook_failed", extra=about)


def _next_update(tx: Tx, webhook: Webhook) -> tuple[int, bytes | None]:
    """Return the number of the next change to deliver and its body; None when there is nothing to post for it."""
    run = run_by_id(tx, webhook.access, webhook.run_id)
    events = changes_of_run(tx, webhook.access, webhook.run_id, webhook.sent_change, limit=1)
    if run is None or not events:
        # The feed no longer reaches back that far.
        return webhook.wanted_change, None
    change, event = events[0]
    for number, update in updates_of_event(tx, webhook.access, run, change, event):
        if number > webhook.sent_change:
            told = _legacy_body(tx, webhook.access, run, number, event.at, update) if _is_legacy(webhook) else update
            return number, msgspec.json.encode(told)
    return change, None


def _legacy_body(tx: Tx, access: Access, run: Run, change: int, at: int, update: Json) -> Json:
    """Return the task at a change, which `update` reports in the form of 1.0; its history is left to tasks/get."""
    # The reply is an artifact of its own, one change before the end.
    reply = run.reply if change >= run.changes - 1 else None
    task = task_json(tx, access, structs.replace(run, changes=change, reply=reply), Detail(history=0))
    # Artifacts are added while the agent works.
    status = update["statusUpdate"]["status"] if "statusUpdate" in update else {"state": WORKING, "timestamp": iso(at)}
    body: Json = conversions().write_task(task | {"status": status})
    return body


def _is_legacy(webhook: Webhook) -> bool:
    return webhook.protocol == "0.3"


def _headers(webhook: Webhook) -> dict[str, str]:
    headers = {"Content-Type": "application/json" if _is_legacy(webhook) else "application/a2a+json"}
    if webhook.token:
        headers["X-A2A-Notification-Token"] = webhook.token
    if webhook.credentials:
        headers["Authorization"] = f"{webhook.scheme} {webhook.credentials}"
    return headers
