"""The context inspector: what was sent, why each line is there, what differs, and what another question would bring."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.scripted_gateway import calls, text


@pytest.fixture
def runs(client: Client, model: ScriptedModel) -> tuple[str, str]:
    """Two runs of one session; the first has two steps and was shown a note."""
    client.post("/api/notes", {"content": "The spring release goes out on a Tuesday."})
    found = (client.http.get("/api/search", params={"q": "spring release"}).json()["notes"] for _ in range(500))
    assert any(found), "the note was not indexed in time"
    model.on("When is the spring release?", calls(("session_status", {})), text("On a Tuesday."))
    key = client.open_lane("Releases")
    client.ended(first := client.say(key, "When is the spring release?"))
    client.ended(second := client.say(key, "And who does it?"))
    return first, second


def test_a_step_shows_every_part_with_its_size_and_every_line_with_its_reason(
    signed_in: OpenPage, runs: tuple[str, str]
) -> None:
    page = signed_in(f"/runs/{runs[0]}/context")
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    bar = page.get_by_role("region", name="Size").get_by_role("img")
    for part in ("Instructions", "Tools", "Context block", "New message", "Calls and results"):
        expect(bar).to_have_attribute("aria-label", re.compile(part))
    expect(page.get_by_text("goes out on a Tuesday").first).to_be_visible()
    expect(page.get_by_text("note in space").first).to_be_visible()
    page.get_by_role("link", name="Open the source").first.click()
    panel = page.get_by_role("complementary", name="Where this comes from")
    expect(panel).to_contain_text("The spring release goes out on a Tuesday.")
    page.reload()
    expect(panel).to_contain_text("The spring release goes out on a Tuesday.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Tools").click()
    expect(page.get_by_text("artifact_add").first).to_be_visible()


def test_steps_and_runs_are_compared_by_their_address(signed_in: OpenPage, runs: tuple[str, str]) -> None:
    page = signed_in(f"/runs/{runs[0]}/context?step=2")
    page.get_by_text("Difference", exact=True).click()
    difference = page.get_by_label("Difference of input")
    expect(difference).to_contain_text("+[tool call]")
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile("step=1$"))
    page.goto(f"/runs/{runs[1]}/context?with={runs[0]}")
    expect(difference).to_contain_text("+And who does it?")
    expect(difference).to_contain_text("-[context]")


def test_another_question_is_asked_without_running_anything(
    signed_in: OpenPage, client: Client, runs: tuple[str, str]
) -> None:
    page = signed_in(f"/runs/{runs[1]}/context")
    before = len(client.http.get("/api/runs", params={"limit": 200}).json()["runs"])
    page.get_by_role("button", name="Ask again").click()
    asked = page.get_by_role("region", name="Ask again")
    asked.get_by_role("textbox", name="Question").fill("spring release Tuesday")
    asked.get_by_role("textbox", name="Question").press("Enter")
    expect(asked).to_contain_text("goes out on a Tuesday")
    asked.get_by_role("combobox", name="Depth").select_option("cheap")
    expect(asked.get_by_role("status")).to_contain_text("0 lines")
    expect(page).to_have_url(re.compile("ask=1.*depth=cheap"))
    assert len(client.http.get("/api/runs", params={"limit": 200}).json()["runs"]) == before
