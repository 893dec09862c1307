"""The frame around every page: navigation, palette, keys, one stream for all tabs, and a server that comes back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.talking import Client, OpenPage
from tests.requirements.mark import requirement


def palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()


def test_the_palette_goes_to_pages_creates_and_finds(signed_in: OpenPage, client: Client) -> None:
    task = client.post("/api/tasks", {"title": "Repair the globe"})["task"]["id"]
    page = signed_in()
    palette(page)
    page.keyboard.insert_text("chat")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/chat/agent"))
    palette(page)
    page.keyboard.insert_text("globe")
    expect(page.get_by_role("dialog").get_by_text("Go to", exact=True)).to_have_count(0)
    page.get_by_role("option", name="Repair the globe").click()
    expect(page.get_by_role("heading", level=1, name="Repair the globe")).to_be_visible()
    assert page.url.endswith(f"/tasks/{task}")
    palette(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_go_to_pages_and_are_listed(signed_in: OpenPage) -> None:
    page = signed_in()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(listed).to_contain_text("Go to Chat")
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("?")


# It opens every page twice.
@pytest.mark.timeout(300)
@requirement("P.ui.unreached")
def test_every_page_that_is_opened_while_the_server_is_away_waits_and_opens_when_it_is_back(
    signed_in: OpenPage, client: Client
) -> None:
    # A session, whose goals have to be read.
    client.open_lane("Away")
    first = signed_in()
    names = first.get_by_role("navigation", name="Main").get_by_role("link").all_inner_texts()
    assert len(names) > 15
    pages = {name: first.context.new_page() for name in names if name != "Home"}
    for page in pages.values():
        page.goto("/")
        expect(page.get_by_role("status", name="Connection")).to_have_text("Live")
        page.evaluate("window.untouched = true")
    first.context.set_offline(True)
    for name, page in pages.items():
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1, name=name), name).to_be_visible()
    # Each says so after a while, all of them at the same time.
    for name, page in pages.items():
        # Search reads nothing before it is asked something; what the frame has read of gateways is there.
        if name not in ("Search", "Models", "Health"):
            expect(page.get_by_role("status", name="Waiting for the server").first, name).to_be_visible()
        expect(page.get_by_role("alert"), name).to_have_count(0)
    first.context.set_offline(False)
    for name, page in pages.items():
        expect(page.get_by_role("status", name="Connection"), name).to_have_text("Live")
        expect(page.get_by_role("heading", level=1, name=name), name).to_be_visible()
        expect(page.get_by_role("status", name="Waiting for the server"), name).to_have_count(0)
        expect(page.get_by_role("alert"), name).to_have_count(0)
        assert page.evaluate("window.untouched"), name


def test_an_unknown_address_has_a_page_for_people_and_json_for_programs(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    page.evaluate("history.pushState({}, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.get_by_role("heading", level=1, name="Page not found")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Go to Home").click()
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()
    program = client.http.get("/nowhere")
    assert (program.status_code, program.json()["error"]["code"]) == (404, "not_found")
    browser = client.http.get("/nowhere", headers={"Accept": "text/html"})
    assert (browser.status_code, browser.headers["content-type"]) == (404, "text/html; charset=utf-8")


def test_the_navigation_opens_and_closes_in_a_narrow_window(signed_in: OpenPage) -> None:
    page = signed_in(viewport={"width": 390, "height": 844})
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Chat")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    link.click()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(link).to_be_hidden()


def test_tabs_share_one_stream_and_one_takes_over_when_it_closes(signed_in: OpenPage, client: Client) -> None:
    first = signed_in()
    streams: list[str] = []
    first.context.on("request", lambda request: streams.append(request.url) if "/api/stream" in request.url else None)
    second = first.context.new_page()
    second.goto("/")
    expect(second.get_by_role("status", name="Connection")).to_have_text("Live")
    client.ended(client.say(client.open_lane("In both tabs"), "Hello"))
    for page in (first, second):
        expect(page.get_by_role("link", name="In both tabs")).to_be_visible()
    assert streams == []
    first.close()
    client.ended(client.say(client.open_lane("In the second tab"), "Hello"))
    expect(second.get_by_role("link", name="In the second tab")).to_be_visible()
    assert len(streams) == 1
