"""Webhooks of tasks as A2A knows them: made, read, listed and deleted by the task's caller.

Whose task it is has been settled before; what is posted to a webhook, and when, is `pushing`'s affair. A webhook's
secrets are shown to whoever may read the task, and to nobody else.
"""

import asyncio
import re

from a2a.types import TaskPushNotificationConfig

from carrel.kernel import Access, invalid
from carrel.kernel.limits import (
    A2A_ID_CHARS_MAX,
    NAME_LOOKUP_SECONDS_MAX,
    WEBHOOK_SECRET_CHARS_MAX,
    WEBHOOK_URL_CHARS_MAX,
)
from carrel.kernel.settings import A2aPushSettings
from carrel.outbox import Webhook, WebhookAddress, delete_webhook, save_webhook, webhook_by_id, webhooks_of_run
from carrel.runs import Run
from carrel.storage import Tx
from carrel.surfaces.a2a.errors import TASK_NOT_FOUND, A2aError
from carrel.surfaces.a2a.task_view import Json
from carrel.wire import ForbiddenAddress, Resolver, WireFault, public_target, resolve_by_system, web_host

# What a header can carry; a line break in one would begin another.
_CARRIED = re.compile(r"[\x20-\x7e]*")
_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_ADDRESS = re.compile(r"[\x21-\x7e]+")


async def check_address(
    url: str, settings: A2aPushSettings, *, field: str = "url", resolve: Resolver = resolve_by_system
) -> None:
    """Refuse an address that this server must not be made to call; `field` is what the refusal names."""
    _host(url, field)
    if settings.allow_private_addresses:
        return
    try:
        async with asyncio.timeout(NAME_LOOKUP_SECONDS_MAX):
            await public_target(url, resolve)
    except ForbiddenAddress as refused:
        raise invalid(field, refused.message) from None
    except (WireFault, TimeoutError):
        # A host that cannot be found now may be there once there is something to tell, and is checked again then.
        return


def add_webhook(
    tx: Tx, access: Access, run: Run, config: TaskPushNotificationConfig, *, after: int | None = None, where: str = ""
) -> Json:
    """Make a webhook of a task, or replace the one of the same id; the address must have been checked.

    It is told of the changes behind `after`, else of those still to come. One that comes with a message, and so with
    `after`, is named after the task when it has no id of its own: a message sent twice makes one webhook. `where` is
    what stands before the names of fields in a refusal.
    """
    webhook_id = config.id or (tx.new_id("whk") if after is None else run.id)
    if len(webhook_id) > A2A_ID_CHARS_MAX or not webhook_id.isprintable():
        raise invalid(
            f"{where}id", f"An id has at most {A2A_ID_CHARS_MAX} characters, none of them a control character."
        )
    return _shown(save_webhook(tx, access, run.id, webhook_id, _address(config, where), after=after))


def read_webhook(tx: Tx, access: Access, run: Run, webhook_id: str) -> Json:
    """One webhook of a task; without an id the oldest one, as 0.3 may ask for."""
    if webhook_id:
        found = webhook_by_id(tx, access, run.id, webhook_id) if _can_be(webhook_id) else None
    else:
        found = next(iter(webhooks_of_run(tx, access, run.id)), None)
    if found is None:
        raise A2aError(TASK_NOT_FOUND, "This task has no such push notification config.")
    return _shown(found)


def list_webhooks(tx: Tx, access: Access, run: Run, *, page_size: int = 0, page_token: str = "") -> Json:
    """The webhooks of a task behind `page_token`, by id; all of them unless a page is asked for."""
    if page_size < 0:
        raise invalid("pageSize", "pageSize is 0 or more.")
    # In our own order of text: a store's may be another, and a page would begin in the wrong place.
    ordered = sorted(webhooks_of_run(tx, access, run.id), key=lambda one: one.id)
    behind = [webhook for webhook in ordered if webhook.id > page_token]
    page = behind[: page_size or None]
    more = {"nextPageToken": page[-1].id} if len(page) < len(behind) else {}
    return {"configs": [_shown(webhook) for webhook in page], **more}


def remove_webhook(tx: Tx, access: Access, run: Run, webhook_id: str) -> Json:
    """Tell a webhook nothing more; one that is not there is removed already."""
    if _can_be(webhook_id):
        delete_webhook(tx, access, run.id, webhook_id)
    return {}


def _can_be(webhook_id: str) -> bool:
    """False for a text with a NUL, which is nobody's id and which PostgreSQL cannot even be asked for."""
    return "\x00" not in webhook_id


def _address(config: TaskPushNotificationConfig, where: str) -> WebhookAddress:
    told = config.authentication
    for field, text in (("token", config.token), ("authentication.credentials", told.credentials)):
        if len(text) > WEBHOOK_SECRET_CHARS_MAX or not _CARRIED.fullmatch(text):
            raise invalid(where + field, f"Write at most {WEBHOOK_SECRET_CHARS_MAX} printable ASCII characters.")
    if (told.scheme or told.credentials) and not _SCHEME.fullmatch(told.scheme):
        raise invalid(f"{where}authentication.scheme", "The scheme is one word, such as Bearer.")
    return WebhookAddress(
        url=config.url,
        host=_host(config.url, f"{where}url"),
        token=config.token,
        scheme=told.scheme,
        credentials=told.credentials,
    )


def _host(url: str, field: str) -> str:
    if len(url) > WEBHOOK_URL_CHARS_MAX or not _ADDRESS.fullmatch(url):
        raise invalid(field, f"An address has 1 to {WEBHOOK_URL_CHARS_MAX} ASCII characters and no spaces.")
    try:
        return web_host(url)
    except ForbiddenAddress as refused:
        raise invalid(field, refused.message) from None


def _shown(webhook: Webhook) -> Json:
    config: Json = {"id": webhook.id, "taskId": webhook.run_id, "url": webhook.url}
    if webhook.token:
        config["token"] = webhook.token
    if webhook.scheme:
        credentials = {"credentials": webhook.credentials} if webhook.credentials else {}
        config["authentication"] = {"scheme": webhook.scheme, **credentials}
    return config
