"""Memory: by place, searched with reasons, added, promoted, forgotten, live."""

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage


def keep(client: Client, key: str, content: str) -> dict[str, Any]:
    body = {"scope": f"session:{key.split(':', 2)[2]}", "type": "fact", "content": content}
    kept: dict[str, Any] = client.post("/api/memory", body)["item"]
    return kept


def test_memory_opens_on_what_everyone_knows_and_a_promotion_by_another_client_appears(
    signed_in: OpenPage, client: Client
) -> None:
    page = signed_in("/memory")
    expect(page.get_by_role("heading", level=1)).to_have_text("Memory")
    expect(page.get_by_role("region", name="Everyone")).to_contain_text("Nothing is kept for everyone yet")
    item = keep(client, client.open_lane("Ferry"), "The ferry sails at <b>noon</b>.")
    client.post(f"/api/memory/{item['id']}/promote", {"reason": "All need it."})
    expect(page.get_by_role("table", name="Memories")).to_contain_text("The ferry sails at <b>noon</b>.")


def test_a_memory_is_added_found_with_its_reason_promoted_and_forgotten(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Lighthouse")
    page = signed_in(f"/memory?session={key}")
    page.keyboard.press("n")
    page.get_by_role("textbox", name="What should be remembered?").fill("The lamp turns every ten seconds.")
    page.get_by_role("button", name="Keep", exact=True).click()
    here = page.get_by_role("region", name="Lighthouse")
    rows = here.get_by_role("table", name="Memories")
    expect(rows).to_contain_text("The lamp turns every ten seconds.")
    page.get_by_role("searchbox", name="Search this memory").fill("lamp")
    expect(rows).to_contain_text("matches lamp")

    page.get_by_role("heading", level=1).click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    peek = page.get_by_role("complementary")
    expect(peek.get_by_role("region", name="Who was shown it")).to_contain_text("No run was shown it yet.")
    expect(page).to_have_url(re.compile("peek=mem_"))
    peek.get_by_role("button", name="Promote").click()
    page.get_by_role("textbox", name="Why should every agent know it?").fill("Ships ask.")
    page.get_by_role("dialog").get_by_role("button", name="Promote").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    known = client.http.get("/api/memory", params={"scope": "global"}).json()["items"]
    assert "The lamp turns every ten seconds." in [each["content"] for each in known]

    page.goto("/memory?scope=global")
    page.get_by_role("row").filter(has_text="The lamp turns").click()
    page.get_by_role("complementary").get_by_role("button", name="Forget").click()
    # The page shows a change before the server has made it.
    with page.expect_response(lambda answer: answer.request.method not in ("GET", "HEAD")):
        page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("region", name="Everyone")).not_to_contain_text("The lamp turns")
    left = client.http.get("/api/memory", params={"scope": "global"}).json()["items"]
    assert "The lamp turns every ten seconds." not in [each["content"] for each in left]


def test_a_run_that_was_shown_a_memory_is_listed_with_it(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Pier")
    item = keep(client, key, "The pier is repaired in spring.")
    client.ended(client.say(key, "When is the pier repaired?"))
    page = signed_in(f"/memory?session={key}&peek={item['id']}")
    shown = page.get_by_role("region", name="Who was shown it")
    expect(shown.get_by_role("listitem")).to_have_count(1)
    expect(shown).to_contain_text("Main")


def test_what_a_memory_says_can_be_changed(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Allotment")
    client.ended(client.say(key, "Hello"))
    chain = client.http.get("/api/memory", params={"sessionId": key}).json()["chain"]
    scope = next(scope for scope in chain if scope.startswith("session:"))
    kept = client.post("/api/memory", {"scope": scope, "type": "fact", "content": "The pump is red."})["item"]
    page = signed_in(f"/memory?scope={scope}&peek={kept['id']}")
    page.get_by_role("complementary").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="What should be remembered?").fill("The pump is green.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("complementary")).to_contain_text("The pump is green.")
