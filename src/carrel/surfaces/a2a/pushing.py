"""Pushing: posts every change of a task to its webhooks, in order and at least once, beside the turns and never in one.

How far each webhook has come stands in the store, so a restart goes on where the last server stood, and several
servers share the work. A webhook that answers slowly takes a place of its own host, and nobody else's.
"""

import asyncio
from collections import Counter
from functools import partial
from logging import getLogger

import msgspec

from carrel.journal import changes_of_run
from carrel.kernel import METRICS, MS_PER_SECOND, Refusal, log_trouble
from carrel.kernel.limits import SAFETY_POLL_SECONDS, UNSETTLED_POLL_SECONDS, WEBHOOK_SECONDS_MAX, WEBHOOKS_AT_A_TIME
from carrel.kernel.settings import A2aPushSettings
from carrel.runs import (
    Webhook,
    crowded_hosts,
    next_webhook_due,
    release_webhooks,
    run_by_id,
    take_webhooks,
    webhook_failed,
    webhook_told,
)
from carrel.storage import WEBHOOKS, Database, Tx
from carrel.surfaces.a2a.rendering import updates
from carrel.wire import Wire, WireFault

_log = getLogger("carrel.a2a")


class _NotTaken(Exception):
    """The receiver answered, and did not take what was posted."""


class Pushing:
    """Tells the webhooks of one store; several servers may do so side by side."""

    def __init__(self, db: Database, wire: Wire, settings: A2aPushSettings) -> None:
        self._db = db
        self._wire = wire
        self._settings = settings
        self._bell = db.bell(WEBHOOKS)
        # How many webhooks of each host are being told.
        self._busy: Counter[str] = Counter()

    async def serve(self) -> None:
        """Tell whoever is to be told, until cancelled."""
        if self._db.engine == "sqlite":
            # One server owns the file: whatever is held in it was left by one that is gone.
            await self._db.write(release_webhooks)
        async with asyncio.TaskGroup() as group:
            while True:
                version = self._bell.version
                taken, wait_seconds = await self._take()
                for webhook in taken:
                    self._busy[webhook.host] += 1
                    group.create_task(self._tend(webhook))
                if not taken:
                    await self._bell.wait(version, wait_seconds)

    async def _take(self) -> tuple[list[Webhook], float]:
        """What is due and has a place; and how long to wait when that is nothing."""
        busy = dict(self._busy)
        places = WEBHOOKS_AT_A_TIME - sum(busy.values())
        if places <= 0:
            return [], SAFETY_POLL_SECONDS
        try:
            wait_seconds = await self._db.read(partial(_seconds_until_due, hosts=crowded_hosts(busy)))
            if wait_seconds > 0:
                return [], min(wait_seconds, SAFETY_POLL_SECONDS)
            # Looked at again soon where another server is just taking them.
            return await self._db.write(lambda tx: take_webhooks(tx, busy, places)), UNSETTLED_POLL_SECONDS
        except Exception as error:  # boundary: the store may be away for a while; so are we, and try again
            log_trouble(_log, "webhooks_unread", error)
            return [], SAFETY_POLL_SECONDS

    async def _tend(self, webhook: Webhook) -> None:
        """Tell one webhook everything that is left to tell."""
        held: Webhook | None = webhook
        try:
            while held is not None:
                held = await self._tell(held)
        except Exception as error:  # boundary: one webhook takes no other with it; its lease brings it back
            log_trouble(_log, "webhook_held", error, run_id=webhook.run_id)
        finally:
            self._busy -= Counter([webhook.host])
            self._bell.ring()

    async def _tell(self, webhook: Webhook) -> Webhook | None:
        """Tell a webhook of the next change; the webhook while there is more and it is still ours."""
        try:
            change, body = await self._db.read(partial(_next_update, webhook=webhook))
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
        return await self._db.write(lambda tx: webhook_told(tx, webhook, change))

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
        came_to = await self._db.write(lambda tx: webhook_failed(tx, webhook, reason, self._settings.attempts_max))
        METRICS.count("webhooks.failed.count")
        told = {"run_id": webhook.run_id, "host": webhook.host, "attempt": webhook.attempt + 1, "error": reason}
        if came_to == "given_up":
            METRICS.count("webhooks.given_up.count")
            _log.warning("webhook_given_up", extra=told)
        else:
            _log.info("webhook_failed", extra=told)


def _seconds_until_due(tx: Tx, hosts: list[str]) -> float:
    due_at = next_webhook_due(tx, but=hosts)
    return SAFETY_POLL_SECONDS if due_at is None else max(0, due_at - tx.now) / MS_PER_SECOND


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
