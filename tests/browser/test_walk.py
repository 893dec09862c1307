"""From page to page without a reload: what one page has read must not break the next."""

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage
from tests.requirements.mark import requirement


@requirement("P.ui.unreached")
def test_every_page_opens_after_every_other(signed_in: OpenPage, client: Client) -> None:
    client.post("/api/spaces", {"name": "Workshop"})
    client.post("/api/tasks", {"title": "Sweep the floor"})
    client.ended(client.say(client.open_lane("A walk"), "Hello"))
    page = signed_in("/board")
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    names = links.all_inner_texts()
    for name in [*names, *reversed(names)]:
        links.and_(page.get_by_role("link", name=name, exact=True)).click()
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
        expect(page.locator("#main").get_by_role("status", name="Loading")).to_have_count(0)
        expect(page.get_by_role("alert"), name).to_have_count(0)
