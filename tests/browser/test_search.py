"""Search: hits by kind with their reasons, and the block that a run would be shown."""

import re

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> lantern"


def test_a_search_shows_hits_by_kind_with_words_marked_and_survives_a_reload(
    signed_in: OpenPage, client: Client
) -> None:
    client.post("/api/tasks", {"title": "Polish the brass lantern", "description": HOSTILE})
    page = signed_in("/search")
    page.get_by_role("searchbox", name="Search everything").fill("lantern")
    hit = page.get_by_role("region", name="Tasks").get_by_role("button").filter(has_text="Polish the brass lantern")
    expect(hit.locator("mark").first).to_have_text("lantern")
    expect(hit.get_by_role("meter", name="Words")).to_be_visible()
    expect(hit.get_by_role("meter", name="Meaning")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Tasks")).click()
    hit.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Polish the brass lantern")).to_contain_text("onerror")
    page.reload()
    expect(page.get_by_role("complementary", name="Polish the brass lantern")).to_be_visible()
    expect(page).to_have_url(re.compile(r"q=lantern.*kind=tasks.*peek="))
    expect(page).not_to_have_title("taken")


def test_the_block_that_a_run_would_be_shown_has_a_reason_for_every_line(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Harbour")
    memory = client.post(
        "/api/memory",
        {"scope": f"session:{key.split(':', 2)[2]}", "type": "fact", "content": "The harbour closes at nine."},
    )
    assert memory["item"]["content"]
    page = signed_in("/search?q=harbour&view=block")
    page.get_by_role("combobox", name="As seen from").select_option(key)
    block = page.get_by_role("region", name="Context block")
    expect(block.locator("pre")).to_contain_text("The harbour closes at nine.")
    expect(block.get_by_role("table", name="Why each line is in it").get_by_role("row")).not_to_have_count(1)
    page.get_by_role("textbox", name="Most characters").fill("60")
    expect(page).to_have_url(re.compile("size=60"))
    expect(block.locator("pre")).not_to_contain_text("The harbour closes at nine.")
