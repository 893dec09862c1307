"""Runs: the list and its filters, the timeline, one run with its tools, and what can be done."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.scripted_gateway import calls, http_error, text

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(2))"


@pytest.fixture
def worked(client: Client, model: ScriptedModel) -> str:
    """A run that called tools, one in vain, and handed something in."""
    added = ("artifact_add", {"name": "Plan", "text": "# The plan\n\nTuesday"})
    model.on("Plan the week", calls(added, ("no_such_tool", {"why": HOSTILE})), text(f"Planned. {HOSTILE}"))
    run = client.say(client.open_lane("Weekly plan"), "Plan the week")
    client.ended(run)
    return run


def test_a_run_of_a_task_is_told_apart_by_what_was_said_and_not_by_an_id(signed_in: OpenPage, client: Client) -> None:
    task = client.post("/api/tasks", {"title": "Wind the clock", "assignedAgentIds": ["main"]})["task"]["id"]
    client.post(f"/api/tasks/{task}/messages", {"content": "Only on Sundays, please."})
    page = signed_in("/runs")
    row = page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text="Only on Sundays, please.")
    expect(row.get_by_role("link", name="Wind the clock")).to_be_visible()
    expect(page.get_by_role("table", name="Runs")).not_to_contain_text(task)


@pytest.fixture
def failed(client: Client, model: ScriptedModel) -> str:
    model.on("Fetch the figures", http_error(401, "invalid key"))
    run = client.say(client.open_lane("Figures"), "Fetch the figures")
    client.ended(run)
    return run


def test_the_list_keeps_its_filters_in_the_address_and_shows_runs_of_others_at_once(
    signed_in: OpenPage, client: Client, worked: str, failed: str
) -> None:
    page = signed_in("/runs")
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    table = page.get_by_role("table", name="Runs")
    expect(table.get_by_role("link", name="Plan the week").first).to_be_visible()
    client.ended(client.say(client.open_lane("Elsewhere"), "Said by another client"))
    expect(table.get_by_role("link", name="Said by another client")).to_be_visible()

    page.get_by_role("checkbox", name="Failed only").check()
    expect(table.get_by_role("link", name="Plan the week")).to_have_count(0)
    page.get_by_role("searchbox", name="Find in runs").fill("figures")
    expect(page).to_have_url(re.compile("state=failed.*q=figures"))
    page.reload()
    expect(table.get_by_role("link", name="Fetch the figures").first).to_be_visible()
    expect(page.get_by_role("checkbox", name="Failed only")).to_be_checked()


def test_rows_are_walked_by_keys_and_opened_beside_the_list(signed_in: OpenPage, worked: str) -> None:
    page = signed_in("/runs?q=plan+the+week")
    expect(page.get_by_role("link", name="Plan the week").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Plan the week")
    expect(panel.get_by_role("list", name="Time")).to_contain_text("artifact_add")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.evaluate("document.activeElement.matches('[data-row]')")


def test_a_run_shows_its_tools_with_their_true_outcome_and_runs_nothing_of_them(
    signed_in: OpenPage, worked: str
) -> None:
    page = signed_in(f"/runs/{worked}")
    tools = page.get_by_role("region", name="Tools")
    done, refused = tools.get_by_role("group").nth(0), tools.get_by_role("group").nth(1)
    expect(done).to_contain_text("Done")
    expect(refused).to_contain_text("Refused")
    refused.locator("summary").click()
    expect(refused).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.get_by_role("article", name="Plan")).to_contain_text("Tuesday")
    expect(page.get_by_role("region", name="Reply")).to_contain_text("<img src=x")
    assert page.locator("main img, main a[href^='javascript']").count() == 0

    page.get_by_role("checkbox", name="Hide queue time").check()
    expect(page.get_by_role("list", name="Time")).not_to_contain_text("Queue")
    page.get_by_role("link", name="A2A").click()
    expect(page.get_by_role("button", name="Copy send the message as curl")).to_be_visible()
    expect(page).to_have_url(re.compile("queue=hidden.*tab=a2a"))
    page.go_back()
    expect(tools).to_be_visible()


def test_a_failed_run_says_what_helps_and_is_retried(signed_in: OpenPage, model: ScriptedModel, failed: str) -> None:
    page = signed_in(f"/runs/{failed}")
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("The run failed")
    expect(why).to_contain_text("What helps:")
    why.get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("region", name="Reply")).to_contain_text("Noted.")


def test_the_timeline_shows_what_runs_and_cancels_it(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    gate = model.hold("Take long")
    client.say(client.open_lane("Slow"), "Take long")
    gate.wait_reached()
    page = signed_in("/runs?view=timeline&state=running")
    row = page.get_by_role("button", name="Take long: in the queue")
    expect(row).to_be_visible()
    page.get_by_role("checkbox", name="Hide queue time").check()
    page.get_by_role("button", name="Take long: running").click()
    page.get_by_role("complementary").get_by_role("link", name="Open", exact=True).click()
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_role("main").get_by_text("Cancelled", exact=True)).to_be_visible()
    gate.open()
