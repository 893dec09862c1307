"""The board: where the work stands, moved by mouse and keyboard, live, with every choice in the address."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.talking import Client, OpenPage
from tests.harness.process import RunningServer

COLUMNS = ("Inbox", "Assigned", "In progress", "Review", "Blocked", "Done")


@pytest.fixture(scope="module", autouse=True)
def _owner(server: RunningServer) -> None:
    """Tasks are given to a person: an agent would begin to work on them."""
    with server.client() as http:
        http.post("/api/users", json={"name": "Ann Lee", "slug": "ann"}).raise_for_status()


def make(client: Client, title: str, status: str = "inbox", **more: object) -> str:
    """Create a task in a column and return its id."""
    given = {} if status == "inbox" else {"assignedUserIds": ["ann"]}
    made = client.post("/api/tasks", {"title": title, **given, **more})["task"]["id"]
    if status not in ("inbox", "assigned"):
        reason = {"blockedReason": "no paper"} if status == "blocked" else {}
        client.http.patch(f"/api/tasks/{made}", json={"status": status, **reason}).raise_for_status()
    return str(made)


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def card(page: Page, name: str, title: str) -> Locator:
    return column(page, name).get_by_role("button", name=title, exact=True)


def task(client: Client, task_id: str) -> dict[str, object]:
    found: dict[str, object] = client.http.get(f"/api/tasks/{task_id}").json()["task"]
    return found


def drag(page: Page, what: Locator, to: Locator) -> None:
    """Drag with the mouse, in steps, as a hand does."""
    # A card that was just moved is drawn anew once the server has answered.
    what.hover()
    start, end = what.bounding_box(), to.bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 20, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 40, start["y"] + 20, steps=4)
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + min(end["height"] - 10, 120), steps=8)
    # The page finds out what the card is over after the mouse was moved, and says it to screen readers.
    expect(page.get_by_text(re.compile(rf" is over .*{to.get_attribute('aria-label')}"))).to_be_attached()
    page.mouse.up()


def test_a_task_is_added_assigned_reviewed_and_closed_with_the_mouse(signed_in: OpenPage, client: Client) -> None:
    page = signed_in("/board")
    for name in COLUMNS:
        expect(column(page, name)).to_be_visible()
    column(page, "Inbox").get_by_role("textbox", name="New task").fill("Bind the atlas #paper")
    page.keyboard.press("Enter")
    expect(card(page, "Inbox", "Bind the atlas")).to_be_visible()
    drag(page, card(page, "Inbox", "Bind the atlas"), column(page, "Assigned"))
    page.get_by_role("dialog", name="Who does it?").get_by_role("checkbox", name="Ann Lee").check()
    page.get_by_role("button", name="Move to Assigned").click()
    expect(card(page, "Assigned", "Bind the atlas")).to_be_visible()
    drag(page, card(page, "Assigned", "Bind the atlas"), column(page, "Review"))
    expect(card(page, "Review", "Bind the atlas")).to_be_visible()
    # The page shows a change before the server has made it.
    with page.expect_response(lambda answer: answer.request.method not in ("GET", "HEAD")):
        drag(page, card(page, "Review", "Bind the atlas"), column(page, "Done"))
    expect(card(page, "Done", "Bind the atlas")).to_be_visible()
    [stored] = client.http.get("/api/tasks", params={"tag": "paper"}).json()["tasks"]
    assert stored["status"] == "done"


def test_a_move_that_is_not_legal_is_taken_back_with_the_servers_sentence(
    signed_in: OpenPage, client: Client, refused: list[str]
) -> None:
    moved = make(client, "Count the globes", "in_progress")
    refused.append(f"/api/tasks/{moved}: 422 (Unprocessable Entity)")
    page = signed_in("/board")
    drag(page, card(page, "In progress", "Count the globes"), column(page, "Assigned"))
    expect(page.get_by_role("alert")).to_contain_text("A task that is in_progress cannot become assigned")
    expect(card(page, "In progress", "Count the globes")).to_be_visible()
    assert task(client, moved)["status"] == "in_progress"


def test_the_keyboard_lifts_a_card_moves_it_and_keeps_the_focus(signed_in: OpenPage, client: Client) -> None:
    first, second = make(client, "Second shelf", "review"), make(client, "First shelf", "review")
    page = signed_in("/board")
    card(page, "Review", "First shelf").focus()
    page.keyboard.press("Space")
    told = page.get_by_role("status")
    expect(told.filter(has_text="First shelf is over Review, at First shelf")).to_be_attached()
    page.keyboard.press("ArrowDown")
    expect(told.filter(has_text="First shelf is over Review, at Second shelf")).to_be_attached()
    # The page shows a change before the server has made it.
    with page.expect_response(lambda answer: answer.request.method not in ("GET", "HEAD")):
        page.keyboard.press("Space")
    expect(column(page, "Review").locator("[data-row]")).to_have_text(["Second shelf", "First shelf"])
    assert task(client, first)["position"] < task(client, second)["position"]  # type: ignore[operator]
    expect(card(page, "Review", "First shelf")).to_be_focused()
    page.reload()
    expect(column(page, "Review").locator("[data-row]")).to_have_text(["Second shelf", "First shelf"])


def test_what_another_client_does_appears_and_the_address_keeps_every_choice(
    signed_in: OpenPage, client: Client
) -> None:
    seen = make(client, "Dust the maps", "assigned", tags=["dust"])
    make(client, "Buy ink", "assigned")
    page = signed_in("/board")
    expect(card(page, "Assigned", "Dust the maps")).to_be_visible()
    client.http.patch(f"/api/tasks/{seen}", json={"status": "review"}).raise_for_status()
    expect(card(page, "Review", "Dust the maps")).to_be_visible()
    page.get_by_role("combobox", name="Tag").select_option("dust")
    expect(card(page, "Assigned", "Buy ink")).to_have_count(0)
    card(page, "Review", "Dust the maps").click()
    peek = page.get_by_role("complementary", name="Dust the maps")
    expect(peek).to_be_visible()
    assert f"peek={seen}" in page.url
    assert "tag=dust" in page.url
    page.reload()
    expect(peek).to_be_visible()
    page.keyboard.press("Escape")
    expect(peek).to_have_count(0)
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("table", name="Tasks")).to_contain_text("Dust the maps")
    page.go_back()
    expect(column(page, "Review")).to_contain_text("Dust the maps")


def test_many_are_chosen_and_only_the_moves_that_all_can_make_are_offered(signed_in: OpenPage, client: Client) -> None:
    for title in ("Lamp one", "Lamp two"):
        make(client, title, "in_progress", tags=["lamp"])
    page = signed_in("/board?tag=lamp")
    for title in ("Lamp one", "Lamp two"):
        card(page, "In progress", title).focus()
        page.keyboard.press("x")
    bar = page.get_by_role("toolbar", name="Chosen tasks")
    expect(bar).to_contain_text("2 tasks chosen")
    bar.get_by_role("button", name="Move to").click()
    expect(page.get_by_role("menuitem")).to_have_text(["Review", "Blocked", "Done"])
    page.get_by_role("menuitem", name="Review").click()
    for title in ("Lamp one", "Lamp two"):
        expect(card(page, "Review", title)).to_be_visible()


def test_a_thousand_tasks_draw_only_the_cards_in_view(signed_in: OpenPage, client: Client) -> None:
    made = client.http.get("/api/tasks", params={"limit": 1}).json()["tasks"][0]
    page = signed_in("/board")
    made["status"] = "inbox"
    rows = [made | {"id": f"task_{n}", "title": f"Card {n}", "position": float(n)} for n in range(1000)]
    page.route("**/api/tasks?*", lambda route: route.fulfill(json={"tasks": rows, "nextCursor": None}))
    page.reload()
    expect(card(page, "Inbox", "Card 0")).to_be_visible()
    assert column(page, "Inbox").locator("[data-task]").count() < 60
    column(page, "Inbox").locator("[data-task]").first.hover()
    page.mouse.wheel(0, 100_000)
    expect(card(page, "Inbox", "Card 999")).to_be_visible()


def test_topics_are_made_renamed_merged_and_archived_at_the_side(signed_in: OpenPage, client: Client) -> None:
    client.post("/api/topics", {"name": "Garden"})
    page = signed_in("/board")
    side = page.get_by_role("navigation", name="Spaces and topics")
    side.get_by_role("button", name="New topic").click()
    page.get_by_role("dialog", name="New topic").get_by_role("textbox", name="Name").fill("Plantz")
    page.keyboard.press("Enter")
    expect(side.get_by_role("link", name="Plantz")).to_be_visible()
    side.get_by_role("link", name="Plantz").hover()
    side.get_by_role("button", name="More: Plantz").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Name").fill("Plants")
    page.keyboard.press("Enter")
    side.get_by_role("link", name="Plants").hover()
    side.get_by_role("button", name="More: Plants").click()
    page.get_by_role("menuitem", name="Merge into another").click()
    page.get_by_role("combobox", name="Into").select_option("Garden")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(side.get_by_role("link", name="Plants")).to_have_count(0)
    expect(side.get_by_role("link", name="Garden")).to_have_attribute("aria-current", "page")
    side.get_by_role("button", name="More: Garden").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(side.get_by_role("link", name="Garden")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(side.get_by_role("link", name="Garden")).to_have_count(1)
