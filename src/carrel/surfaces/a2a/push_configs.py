"""Push notification configs: a caller creates, reads, lists and deletes the webhooks of its tasks.

`push` does the delivery. A config's secrets are returned to the task's caller only.
"""

import asyncio
import re

import a2a.types as wire

from carrel.kernel import invalid, limits
from carrel.kernel.settings import A2aPushSettings
from carrel.outbox import Webhook, WebhookAddress, delete_webhook, save_webhook, webhook_by_id, webhooks_of_run
from carrel.runs import Run
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller, Version, own_run
from carrel.surfaces.a2a.errors import PUSH_NOT_SUPPORTED, TASK_NOT_FOUND, A2aError
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.http.services import Services
from carrel.wire import ForbiddenAddress, Resolver, WireFault, public_target, resolve_by_system, web_host

# What a header can carry; a line break would start another header.
_HEADER_TEXT = re.compile(r"[\x20-\x7e]*")
_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_URL = re.compile(r"[\x21-\x7e]+")


class PushConfigs:
    def __init__(self, services: Services) -> None:
        self._db = services.db
        self._settings = services.settings.a2a.push

    async def create(self, caller: Caller, request: wire.TaskPushNotificationConfig) -> Json:
        """CreateTaskPushNotificationConfig."""
        await check_push_url(request.url, self._settings)
        return await self._db.write(
            lambda tx: add_push_config(tx, caller, own_run(tx, caller, request.task_id), request)
        )

    async def get(self, caller: Caller, request: wire.GetTaskPushNotificationConfigRequest) -> Json:
        """GetTaskPushNotificationConfig; without an id, as 0.3 allows, return the oldest one."""
        _require_push(self._settings)

        def work(tx: Tx) -> Json:
            run = own_run(tx, caller, request.task_id)
            if request.id:
                found = webhook_by_id(tx, caller.access, run.id, request.id) if _is_storable(request.id) else None
            else:
                found = next(iter(webhooks_of_run(tx, caller.access, run.id)), None)
            if found is None:
                raise A2aError(TASK_NOT_FOUND, "This task has no such push notification config.")
            return _config(found)

        return await self._db.read(work)

    async def list(self, caller: Caller, request: wire.ListTaskPushNotificationConfigsRequest) -> Json:
        """ListTaskPushNotificationConfigs: sorted by id; all of them unless the request asks for a page."""
        _require_push(self._settings)

        def work(tx: Tx) -> Json:
            run = own_run(tx, caller, request.task_id)
            if request.page_size < 0:
                raise invalid("pageSize", "pageSize must be 0 or more.")
            # Sorted here, because databases order text differently and a page would start at the wrong id.
            ordered = sorted(webhooks_of_run(tx, caller.access, run.id), key=lambda webhook: webhook.id)
            rest = [webhook for webhook in ordered if webhook.id > request.page_token]
            page = rest[: request.page_size or None]
            more = {"nextPageToken": page[-1].id} if len(page) < len(rest) else {}
            return {"configs": [_config(webhook) for webhook in page], **more}

        return await self._db.read(work)

    async def delete(self, caller: Caller, request: wire.DeleteTaskPushNotificationConfigRequest) -> Json:
        """DeleteTaskPushNotificationConfig; deleting a missing one is not an error."""
        _require_push(self._settings)

        def work(tx: Tx) -> Json:
            run = own_run(tx, caller, request.task_id)
            if _is_storable(request.id):
                delete_webhook(tx, caller.access, run.id, request.id)
            return {}

        return await self._db.write(work)


async def check_push_url(
    url: str, settings: A2aPushSettings, *, field: str = "url", resolve: Resolver = resolve_by_system
) -> None:
    """Refuse a URL that this server must not call, or any if push is disabled; `field` is named in the error."""
    _require_push(settings)
    _host(url, field)
    if settings.allow_private_addresses:
        return
    try:
        async with asyncio.timeout(limits.NAME_LOOKUP_SECONDS_MAX):
            await public_target(url, resolve)
    except ForbiddenAddress as refused:
        raise invalid(field, refused.message) from None
    except (WireFault, TimeoutError):
        # A host that cannot be resolved now may be up by the first delivery, which checks it again.
        return


def add_push_config(
    tx: Tx,
    caller: Caller,
    run: Run,
    config: wire.TaskPushNotificationConfig,
    *,
    after: int | None = None,
    prefix: str = "",
) -> Json:
    """Create the config of a task, or replace the one with the same id; its URL must have been checked.

    It reports the changes after `after`, or those still to come. A config that comes with a message, and so with
    `after`, gets the id of the task unless it has one: a message sent twice creates one config. `prefix` goes before
    the names of fields in errors. Its posts have the form of the version that the caller uses.
    """
    webhook_id = config.id or (tx.new_id("whk") if after is None else run.id)
    if len(webhook_id) > limits.A2A_ID_CHARS_MAX or not webhook_id.isprintable():
        problem = f"The id must be at most {limits.A2A_ID_CHARS_MAX} characters, without control characters."
        raise invalid(f"{prefix}id", problem)
    address = _address(config, prefix, caller.version)
    return _config(save_webhook(tx, caller.access, run.id, webhook_id, address, after=after))


def _require_push(settings: A2aPushSettings) -> None:
    if not settings.enabled:
        raise A2aError(PUSH_NOT_SUPPORTED, "This server sends no push notifications, as its agent card says.")


def _is_storable(webhook_id: str) -> bool:
    """Return False for an id with a NUL, which cannot exist and which PostgreSQL refuses in a query."""
    return "\x00" not in webhook_id


def _address(config: wire.TaskPushNotificationConfig, prefix: str, version: Version) -> WebhookAddress:
    auth = config.authentication
    for field, text in (("token", config.token), ("authentication.credentials", auth.credentials)):
        if len(text) > limits.WEBHOOK_SECRET_CHARS_MAX or not _HEADER_TEXT.fullmatch(text):
            raise invalid(prefix + field, f"Use at most {limits.WEBHOOK_SECRET_CHARS_MAX} printable ASCII characters.")
    if (auth.scheme or auth.credentials) and not _SCHEME.fullmatch(auth.scheme):
        raise invalid(f"{prefix}authentication.scheme", "The scheme must be one word, such as Bearer.")
    return WebhookAddress(
        url=config.url,
        host=_host(config.url, f"{prefix}url"),
        token=config.token,
        scheme=auth.scheme,
        credentials=auth.credentials,
        protocol=version,
    )


def _host(url: str, field: str) -> str:
    if len(url) > limits.WEBHOOK_URL_CHARS_MAX or not _URL.fullmatch(url):
        raise invalid(field, f"The URL must be 1 to {limits.WEBHOOK_URL_CHARS_MAX} ASCII characters without spaces.")
    try:
        return web_host(url)
    except ForbiddenAddress as refused:
        raise invalid(field, refused.message) from None


def _config(webhook: Webhook) -> Json:
    config: Json = {"id": webhook.id, "taskId": webhook.run_id, "url": webhook.url}
    if webhook.token:
        config["token"] = webhook.token
    if webhook.scheme:
        credentials = {"credentials": webhook.credentials} if webhook.credentials else {}
        config["authentication"] = {"scheme": webhook.scheme, **credentials}
    return config
