"""Two people in two browsers: one board for both, and chats for each alone."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.talking import Client, OpenPage
from tests.browser.test_board import card, column, drag
from tests.requirements.mark import requirement

SECRET = "the code of the vault is 4711"


def invite(client: Client, name: str) -> tuple[str, str]:
    """Return the id of a new person and the secret of a token."""
    user = str(client.post("/api/users", {"name": name, "slug": name.lower(), "role": "member"})["user"]["id"])
    return user, str(client.post("/api/tokens", {"kind": "user", "name": name, "userId": user})["secret"])


@pytest.fixture
def two(new_page: OpenPage, client: Client) -> tuple[Page, Page, list[str]]:
    """A page of Ann, one of Ben, and their ids."""
    people = [invite(client, name) for name in ("Ann", "Ben")]
    pages = []
    for _, secret in people:
        page = new_page()
        page.goto(f"/board#token={secret}")
        expect(page.get_by_role("status", name="Connection")).to_have_text("Live")
        pages.append(page)
    return pages[0], pages[1], [user for user, _ in people]


@requirement("P.ui.people")
def test_two_people_see_each_others_moves_and_never_each_others_chats(
    two: tuple[Page, Page, list[str]], client: Client, refused: list[str]
) -> None:
    ann, ben, ids = two
    # Ben asks for Ann's chat by its address, and for the settings of the server.
    refused.extend(["404 (Not Found)", "/api/settings: 403 (Forbidden)"])
    client.post("/api/tasks", {"title": "Mend the ladder", "assignedUserIds": ids})
    for page in (ann, ben):
        expect(card(page, "Assigned", "Mend the ladder")).to_be_visible()
    drag(ann, card(ann, "Assigned", "Mend the ladder"), column(ann, "In progress"))
    expect(card(ben, "In progress", "Mend the ladder")).to_be_visible()
    drag(ben, card(ben, "In progress", "Mend the ladder"), column(ben, "Review"))
    expect(card(ann, "Review", "Mend the ladder")).to_be_visible()

    heard: list[str] = []
    ben.on("response", lambda answer: heard.append(answer.url))
    ann.goto("/chat")
    field = ann.get_by_role("textbox", name="Message")
    field.fill(SECRET)
    field.press("Enter")
    expect(ann.get_by_role("log", name="Transcript")).to_contain_text("Noted.")
    address = ann.url.partition("/chat/")[2]
    # A move that comes after the chat shows that Ben's page has heard everything it was to hear.
    ann.goto("/board")
    drag(ann, card(ann, "Review", "Mend the ladder"), column(ann, "Done"))
    expect(card(ben, "Done", "Mend the ladder")).to_be_visible()
    assert [url for url in heard if address in url or quote(address, safe="") in url] == []
    for path in ("/", "/chat", "/sessions?machine=1", "/runs", "/search?q=4711", "/isolation", f"/chat/{address}"):
        ben.goto(path)
        expect(ben.get_by_role("heading", level=1)).to_be_visible()
        expect(ben.get_by_role("status", name="Connection")).to_have_text("Live")
        expect(ben.get_by_role("status", name="Loading")).to_have_count(0)
        expect(ben.locator("body")).not_to_contain_text(SECRET)
    ben.goto(f"/sessions/{address}")
    expect(ben.locator("#main")).to_contain_text("no such session")
