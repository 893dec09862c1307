"""The notification bell: failures appear at once, and opening one marks it as read."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.measures import FAINT_TEXT, FOCUS, NAMELESS_CONTROLS
from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.scripted_gateway import http_error

NARROW = {"width": 390, "height": 844}
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 4


@pytest.fixture(autouse=True)
def all_read(client: Client) -> None:
    """Earlier tests of this file left notifications behind."""
    client.post("/api/notifications/read-all", {})


def fail(client: Client, model: ScriptedModel, name: str, line: str, why: str = "no paper") -> str:
    """Make a run fail in a new lane of that name and return its key."""
    key = client.open_lane(name)
    model.on(line, http_error(400, why))
    client.ended(client.say(key, line))
    return key


def bell(page: Page) -> Locator:
    return page.get_by_role("button", name="Notifications")


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Notifications")


def test_a_failure_appears_at_once_and_opening_it_marks_it_read(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page, other = signed_in(), signed_in()
    expect(bell(page)).to_have_accessible_name("Notifications, none unread")
    fail(client, model, "Printing", "Print the list", "the printer has no paper")
    for each in (page, other):
        expect(bell(each)).to_have_accessible_name("Notifications, 1 unread")
    bell(page).click()
    notice = panel(page).get_by_role("listitem").filter(has_text="Print the list")
    expect(notice).to_contain_text("Main failed: Print the list")
    expect(notice).to_contain_text("the printer has no paper")
    notice.get_by_role("link", name="Unread: Main failed: Print the list").click()
    expect(page.get_by_role("log", name="Transcript")).to_contain_text("Print the list")
    expect(panel(page)).to_be_hidden()
    for each in (page, other):
        expect(bell(each)).to_have_accessible_name("Notifications, none unread")


def test_a_notification_of_a_task_leads_to_the_task_and_its_thread(signed_in: OpenPage, client: Client) -> None:
    task = client.post("/api/tasks", {"title": "Paint the fence"})["task"]
    client.http.post(f"/api/tasks/{task['id']}/assign", json={"userIds": ["owners"]}).raise_for_status()
    user = client.post("/api/users", {"name": "Ada", "slug": "ada", "role": "member"})["user"]["id"]
    secret = client.post("/api/tokens", {"kind": "user", "name": "ada", "userId": user})["secret"]
    said = {"content": "Green, please"}
    as_ada = {"Authorization": f"Bearer {secret}"}
    client.http.post(f"/api/tasks/{task['id']}/messages", json=said, headers=as_ada).raise_for_status()
    page = signed_in()
    bell(page).click()
    panel(page).get_by_role("link", name="Unread: Ada wrote in: Paint the fence").click()
    expect(page).to_have_url(re.compile(f"/tasks/{task['id']}$"))
    expect(page.get_by_role("heading", level=1, name="Paint the fence")).to_be_visible()
    expect(page.get_by_role("log", name="Thread").get_by_role("article", name="Ada")).to_contain_text(said["content"])
    page.reload()
    expect(page.get_by_role("heading", level=1, name="Paint the fence")).to_be_visible()


def test_all_are_marked_at_once_and_stay_in_the_list(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    for number in range(2):
        fail(client, model, f"Lane {number}", f"Break {number}")
    expect(bell(page)).to_have_accessible_name("Notifications, 2 unread")
    bell(page).click()
    panel(page).get_by_role("button", name="Mark all read").click()
    expect(bell(page)).to_have_accessible_name("Notifications, none unread")
    expect(panel(page).get_by_role("button", name="Mark all read")).to_be_hidden()
    expect(panel(page)).to_contain_text("All read.")
    expect(panel(page).get_by_role("link", name="Main failed: Break 1", exact=True)).to_be_visible()


def test_the_panel_is_opened_walked_and_left_by_keyboard(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    fail(client, model, "Typing", "Type it up")
    page = signed_in()
    expect(bell(page)).to_have_accessible_name("Notifications, 1 unread")
    bell(page).focus()
    page.keyboard.press("Enter")
    expect(panel(page).get_by_role("link").first).to_be_visible()
    for _ in range(2):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS)["seen"]
    expect(panel(page).get_by_role("link").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()
    expect(bell(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel(page)).to_be_visible()
    page.get_by_role("heading", level=1).click()
    expect(panel(page)).to_be_hidden()


def test_a_button_shows_older_ones(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Twenty-one")
    for number in range(21):
        model.on(f"Break piece {number}.", http_error(400, "broken"))
    runs = [client.say(key, f"Break piece {number}.") for number in range(21)]
    client.ended(runs[-1])
    page = signed_in()
    expect(bell(page)).to_have_accessible_name("Notifications, 21 unread")
    bell(page).click()
    expect(panel(page).get_by_role("listitem")).to_have_count(20)
    panel(page).get_by_role("button", name="Show older").click()
    expect(panel(page).get_by_role("link", name="Main failed: Break piece 0.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_fits_a_narrow_window_and_can_be_read(
    signed_in: OpenPage, client: Client, model: ScriptedModel, scheme: str
) -> None:
    fail(client, model, LONG[:60], f"{LONG} {scheme}", LONG)
    page = signed_in(viewport=NARROW, color_scheme=scheme, reduced_motion="reduce")
    expect(bell(page)).to_have_accessible_name("Notifications, 1 unread")
    bell(page).click()
    expect(panel(page).get_by_role("listitem").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.evaluate(FAINT_TEXT) == []
    assert page.evaluate(NAMELESS_CONTROLS) == []
    box = panel(page).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]
