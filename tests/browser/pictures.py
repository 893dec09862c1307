"""Takes the pictures of the manual: `./dev pictures`."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from tests.browser.talking import Client, ScriptedModel
from tests.harness.process import RunningServer, reaching, servers_in
from tests.scripted_gateway import Answer, Gate, ScriptedGateway, calls, http_error, text

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZE: ViewportSize = {"width": 1280, "height": 800}
DRAFT = """Here is a draft of Maintenance:

1. Once a week: clean the rollers.
2. Once a month: oil the chain, check the belt.
3. Once a year: have the motor measured.

Shall I put it into the manual?"""


def ask(question: str) -> Answer:
    """Return the model's question to a person."""
    return calls(("request_input", {"question": question}))


SCENES: list[tuple[str, str, str, Answer]] = [
    (
        "bookkeeper",
        "Invoices of October",
        "Book the invoice of the paper supplier.",
        ask("The supplier sent two invoices with the same number. Which one should I book?"),
    ),
    (
        "writer",
        "Newsletter",
        "Write the newsletter of this month.",
        ask("Shall I mention the new opening hours, or wait until they are settled?"),
    ),
    (
        "writer",
        "Translation",
        "Please translate the manual.",
        http_error(400, "the model does not accept this language"),
    ),
    (
        "researcher",
        "Reports",
        "Read the three reports and compare them.",
        calls(("decline", {"reason": "The third report is an empty file; please send it again."})),
    ),
    ("researcher", "Sources", "Find the sources of the second chapter.", text("Found.", before=Gate())),
    ("bookkeeper", "Receipts", "Sort the receipts of this week.", text("Sorted.", before=Gate())),
]
CONVERSATION = {
    "Which chapters are still missing?": "Two: Maintenance and Spare parts. I can draft the first from the workshop "
    "notes; for the second I need the supplier's list.",
    "Draft the first one, please.": DRAFT,
}


def fill(client: Client, model: ScriptedModel) -> str:
    """Create agents and lanes in every state; return the key of the lane to chat in."""
    for agent in ("writer", "bookkeeper", "researcher"):
        client.post("/api/agents", {"id": agent, "name": agent.capitalize()})
    lanes = [open_lane(client, agent, name) for agent, name, _, _ in SCENES]
    for lane, (_, _, message, answer) in zip(lanes, SCENES, strict=True):
        model.on(message, answer)
        client.say(lane, message)
    client.say(lanes[-1], "And then those of last week.")
    manual = open_lane(client, "writer", "The manual")
    for line, reply in CONVERSATION.items():
        model.on(line, text(reply))
        client.ended(client.say(manual, line))
    return manual


def open_lane(client: Client, agent: str, name: str) -> str:
    body = {"channelType": "web", "agentId": agent, "displayName": name}
    return str(client.post("/api/sessions", body)["sessionKey"])


def take(browser: Browser, server: RunningServer, key: str, scheme: Literal["light", "dark"]) -> None:
    """Take both pictures in one colour scheme."""
    page = browser.new_page(base_url=server.url, viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
    ending = "-dark" if scheme == "dark" else ""
    page.goto(server.dashboard)
    expect(page.get_by_role("list", name="What needs you").get_by_role("listitem")).to_have_count(4)
    expect(page.get_by_role("region", name="At work").get_by_role("img")).to_have_count(2)
    page.screenshot(path=PICTURES / f"dashboard{ending}.png")
    page.goto(f"/chat/{key.replace(':', '%3A')}")
    expect(page.get_by_role("button", name="What it was shown")).to_have_count(2)
    expect(page.get_by_role("complementary", name="Chats").get_by_role("link", name="Receipts")).to_be_visible()
    page.screenshot(path=PICTURES / f"chat{ending}.png")
    page.close()


def main() -> None:
    """Start a server, fill it and take every picture."""
    chromium = os.environ.get("CARREL_CHROMIUM") or shutil.which("chromium")
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with tempfile.TemporaryDirectory() as name, ScriptedGateway() as gateway, sync_playwright() as playwright:
        model = ScriptedModel()
        gateway.rule = model.answer
        with servers_in(Path(name)) as start:
            server = start(CARREL_SERVER__DRAIN_SECONDS="1", **reaching(gateway))
            with server.client() as client:
                key = fill(Client(client), model)
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            take(browser, server, key, "light")
            take(browser, server, key, "dark")
            browser.close()


if __name__ == "__main__":
    main()
