"""The page Webhooks: the addresses, what was delivered, and carrying out again what failed."""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage
from tests.harness.process import RunningServer
from tests.inbound.senders import ISSUE, SECRET, Post, from_github, from_program
from tests.requirements.mark import requirement

SETTINGS = """
[webhooks.github]
kind = "github"
secret_env = "WEBHOOK_SECRET"
action = "task"

[webhooks.alerts]
secret_env = "WEBHOOK_SECRET"
agent = "oncall"
"""


def configure(folder: Path) -> None:
    (folder / "carrel.toml").write_text(SETTINGS)


pytestmark = pytest.mark.served(prepare=configure, WEBHOOK_SECRET=SECRET)


def post(server: RunningServer, name: str, what: Post) -> None:
    headers = {"Content-Type": "application/json", **what.headers}
    httpx.post(f"{server.url}/api/hooks/in/{name}", content=what.body, headers=headers)


@requirement("P.webhook.page")
def test_deliveries_are_seen_as_they_come_and_repeated(
    signed_in: OpenPage, server: RunningServer, client: Client
) -> None:
    page = signed_in("/")
    page.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
    addresses = page.get_by_role("table", name="Webhooks")
    expect(addresses).to_contain_text(f"{server.url}/api/hooks/in/github")
    expect(addresses).to_contain_text("GitHub: becomes a task")
    deliveries = page.get_by_role("table", name="Deliveries")
    post(server, "github", from_github(ISSUE))
    row = deliveries.get_by_role("row").filter(has_text="octo-org/doors#1347")
    expect(row).to_contain_text("Done")
    # A person writes texts that look like markup.
    post(server, "alerts", from_program({"title": "<b>Disk</b> full", "text": "94%"}))
    failed = deliveries.get_by_role("row").filter(has_text="<b>Disk</b> full")
    expect(failed).to_contain_text("There is no agent 'oncall'. Known: main.")
    client.post("/api/agents", {"id": "oncall"})
    failed.get_by_role("button", name="Redeliver: <b>Disk</b> full").click()
    expect(failed).to_contain_text("Done")
    expect(failed.get_by_role("button")).to_have_count(0)
    failed.get_by_text("alerts · json").click()
    expect(page.get_by_role("region", name="Body")).to_contain_text('"text": "94%"')
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Failed", exact=True).click()
    expect(page.get_by_text("Nothing was delivered.")).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    row.get_by_role("link", name="Open the task").click()
    expect(page.get_by_role("heading", name="octo-org/doors#1347: The green door does not close")).to_be_visible()


@requirement("P.webhook.page")
def test_what_was_refused_is_shown_with_what_was_wrong(signed_in: OpenPage, server: RunningServer) -> None:
    post(server, "github", from_github(ISSUE).with_header("X-Hub-Signature-256", None))
    page = signed_in("/webhooks")
    github = page.get_by_role("table", name="Webhooks").get_by_role("row").filter(has_text="hooks/in/github")
    expect(github).to_contain_text("1 refused since the server was started")
    expect(github).to_contain_text("the header X-Hub-Signature-256 is missing")
