"""Webhooks of other programs: what they post becomes messages and tasks, once, if it is signed."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.kernel.settings import Settings, WebhookSettings
from tests.harness.server import HttpServer, open_http_server
from tests.inbound.senders import (
    COMMENT,
    ISSUE,
    SECRET,
    Post,
    from_github,
)
from tests.surfaces.api_calls import Json

pytestmark = pytest.mark.anyio


def hook(**settings: Any) -> WebhookSettings:
    return WebhookSettings(secret_env="TEST_WEBHOOK_SECRET", **settings)


WEBHOOKS = {
    "github": hook(kind="github", action="task", assignee="main", instructions="Find the cause."),
    "linear": hook(kind="linear", action="task"),
    "slack": hook(kind="slack", agent="main"),
    "alerts": hook(title="{title}", text="{text}"),
    "lost": hook(agent="nobody"),
    "elsewhere": hook(account="other"),
}


@pytest.fixture
async def hooked(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HttpServer]:
    """A server with webhooks, on SQLite and again on PostgreSQL; it starts no runs."""
    monkeypatch.setenv("TEST_WEBHOOK_SECRET", SECRET)
    async with open_http_server(store_url, settings=Settings(webhooks=WEBHOOKS), works=False) as opened:
        yield opened


@pytest.fixture
async def owner(hooked: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of the account that most webhooks belong to."""
    async with hooked.client() as client:
        yield client


async def post(server: HttpServer, name: str, what: Post, status: int = 202) -> Json:
    async with server.client(None) as nobody:
        answer = await nobody.post(
            f"/api/hooks/in/{name}", content=what.body, headers={"Content-Type": "application/json", **what.headers}
        )
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def deliveries(owner: httpx.AsyncClient, **query: str) -> list[Json]:
    answer = await owner.get("/api/hooks/in/deliveries", params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["deliveries"]
    return found


async def delivery(owner: httpx.AsyncClient, delivery_id: str) -> Json:
    answer = await owner.get(f"/api/hooks/in/deliveries/{delivery_id}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["delivery"]
    return found


async def test_an_issue_becomes_a_task_and_its_comments_go_to_the_thread(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    opened = await post(hooked, "github", from_github(ISSUE))
    made = await delivery(owner, opened["deliveryId"])
    assert (made["outcome"], made["event"], made["author"]) == ("done", "issues.opened", "octocat")
    task = (await owner.get(f"/api/tasks/{made['taskId']}")).json()["task"]
    assert task["title"] == "octo-org/doors#1347: The green door does not close"
    assert task["description"].startswith('Find the cause.\n\nThe webhook "github" reports issues.opened from GitHub')
    assert "> It stays open." in task["description"]
    assert (task["createdBy"], task["status"], len(task["assignedAgentIds"])) == ("webhook", "assigned", 1)
    second = await post(hooked, "github", from_github(COMMENT, "issue_comment", "another"))
    assert (await delivery(owner, second["deliveryId"]))["taskId"] == made["taskId"]
    messages = (await owner.get(f"/api/tasks/{made['taskId']}/thread")).json()["messages"]
    (said,) = messages
    assert said["authorName"] == "webhook github"
    assert "> It is the hinge." in said["content"]
