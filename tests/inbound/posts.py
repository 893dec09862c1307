"""Webhooks of every kind, posting to them, and what the API shows of it."""

from typing import Any

import httpx

from carrel.kernel.settings import WebhookSettings
from tests.harness.server import HttpServer
from tests.inbound.senders import Post

Json = dict[str, Any]
SECRET_VARIABLE = "TEST_WEBHOOK_SECRET"


def webhook(**settings: Any) -> WebhookSettings:
    """Return the settings of a webhook whose secret is in the variable of the tests."""
    return WebhookSettings(secret_env=SECRET_VARIABLE, **settings)


WEBHOOKS = {
    "github": webhook(kind="github", action="task", assignee="main", instructions="Find the cause."),
    "linear": webhook(kind="linear", action="task"),
    "slack": webhook(kind="slack", agent="main"),
    "alerts": webhook(title="{title}", text="{text}"),
    "lost": webhook(agent="nobody"),
    "elsewhere": webhook(account="other"),
}


async def post(server: HttpServer, name: str, what: Post, status: int = 202) -> Json:
    """Post to a webhook as a program without a token; return the answer, which has this status."""
    async with server.client(None) as nobody:
        headers = {"Content-Type": "application/json", **what.headers}
        sent = {known.encode(): value.encode("latin-1") for known, value in headers.items()}
        answer = await nobody.post(f"/api/hooks/in/{name}", content=what.body, headers=sent)
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def done(server: HttpServer, owner: httpx.AsyncClient, name: str, what: Post, status: int = 202) -> Json:
    """Post what is carried out, and return the delivery."""
    found = await delivery(owner, (await post(server, name, what, status))["deliveryId"])
    assert found["outcome"] == "done", found["reason"]
    return found


async def delivery(owner: httpx.AsyncClient, delivery_id: str) -> Json:
    """Return a delivery with its body."""
    answer = await owner.get(f"/api/hooks/in/deliveries/{delivery_id}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["delivery"]
    return found


async def deliveries(owner: httpx.AsyncClient, **query: str) -> list[Json]:
    """Return the deliveries of an account, the newest first."""
    return await _listed(owner, "/api/hooks/in/deliveries", "deliveries", **query)


async def webhooks(owner: httpx.AsyncClient) -> list[Json]:
    """Return the webhooks of an account."""
    return await _listed(owner, "/api/hooks/in", "webhooks")


async def _listed(owner: httpx.AsyncClient, path: str, name: str, **query: str) -> list[Json]:
    answer = await owner.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()[name]
    return found
