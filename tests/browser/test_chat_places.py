"""Chats have addresses and names, and keep what was not sent and where one was."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.browser.test_chat import address, row, transcript, write
from tests.requirements.mark import requirement
from tests.scripted_gateway import calls, text

SCROLLED = "document.querySelector('[role=log]').scrollTop"


def chats(page: Page, name: str) -> None:
    page.get_by_role("complementary", name="Chats").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=2, name=name)).to_be_visible()


def test_a_new_chat_has_its_own_address_at_once_and_after_reload(signed_in: OpenPage) -> None:
    page = signed_in("/chat")
    expect(page).to_have_url(re.compile(r"/chat/agent%3Amain%3Aweb%3Ac-"))
    first = page.url
    page.get_by_role("button", name="New", exact=True).click()
    expect(page).not_to_have_url(first)
    second = page.url
    page.reload()
    expect(page.get_by_text("No messages yet.")).to_be_visible()
    assert page.url == second
    page.goto("/chat?new=1")
    expect(page).to_have_url(re.compile(r"/chat/agent%3A"))
    assert page.url not in (first, second)


def test_an_address_that_names_no_chat_says_so(signed_in: OpenPage) -> None:
    page = signed_in("/chat/null")
    expect(page.get_by_role("heading", level=1, name="Page not found")).to_be_visible()


def test_what_was_not_sent_survives_switching_and_reload(signed_in: OpenPage, client: Client) -> None:
    keys = [client.open_lane(name) for name in ("Left desk", "Right desk")]
    page = signed_in(address(keys[0]))
    field = page.get_by_role("textbox", name="Message")
    field.fill("Half a thou")
    chats(page, "Right desk")
    expect(field).to_have_value("")
    chats(page, "Left desk")
    expect(field).to_have_value("Half a thou")
    page.reload()
    expect(field).to_have_value("Half a thou")


def test_the_place_in_a_transcript_survives_switching_and_reload(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Long scroll")
    client.open_lane("Short scroll")
    model.on("Tell all", text("\n\n".join(f"Verse {number}" for number in range(80))))
    client.ended(client.say(key, "Tell all"))
    page = signed_in(address(key))
    last = transcript(page).get_by_text("Verse 79", exact=True)
    expect(last).to_be_in_viewport()
    transcript(page).hover()
    page.mouse.wheel(0, -900)
    expect(last).not_to_be_in_viewport()
    top = page.evaluate(SCROLLED)
    chats(page, "Short scroll")
    chats(page, "Long scroll")
    expect(last).to_have_count(1)
    expect(last).not_to_be_in_viewport()
    assert abs(page.evaluate(SCROLLED) - top) < 5
    page.reload()
    expect(last).to_have_count(1)
    expect(last).not_to_be_in_viewport()
    assert abs(page.evaluate(SCROLLED) - top) < 5


def test_a_chat_is_renamed_and_archived_with_an_undo(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Old name")
    client.ended(client.say(key, "Hello"))
    page = signed_in(address(key))
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("dialog", name="Rename this chat").get_by_role("textbox", name="Name").fill("Better name")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2, name="Better name")).to_be_visible()
    rail = page.get_by_role("complementary", name="Chats")
    pinned = rail.get_by_role("region", name="Pinned chats").get_by_role("link", name="Better name")
    rail.get_by_role("button", name="More: Better name").click()
    page.get_by_role("menuitem", name="Pin").click()
    expect(pinned).to_have_count(1)
    page.reload()
    expect(pinned).to_have_count(1)
    rail.get_by_role("button", name="More: Better name").click()
    page.get_by_role("menuitem", name="Unpin").click()
    expect(pinned).to_have_count(0)
    rail.get_by_role("button", name="More: Better name").click()
    page.get_by_role("menuitem", name="Archive").click()
    link = rail.get_by_role("link", name="Better name")
    expect(link).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(link).to_have_count(1)


def test_a_slash_opens_a_menu_that_completes(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Commands")
    client.ended(client.say(key, "Hello"))
    page = signed_in(address(key))
    field = page.get_by_role("textbox", name="Message")
    field.fill("/")
    menu = page.get_by_role("listbox", name="Commands")
    expect(menu.get_by_role("option").filter(has_text="/help")).to_be_visible()
    field.fill("/who")
    field.press("Enter")
    expect(field).to_have_value("/whoami")
    field.press("Enter")
    said = transcript(page).get_by_role("article", name="Command")
    expect(said).to_contain_text("/whoami")
    field.fill("/plan ")
    expect(menu.get_by_role("option")).to_have_text([re.compile("/plan on"), *[re.compile("/plan ")] * 6])
    field.press("ArrowDown")
    field.press("Tab")
    expect(field).to_have_value("/plan off")
    field.press("Escape")
    expect(menu).to_be_hidden()


def test_dropped_and_pasted_files_go_with_the_message(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Parcels")
    page = signed_in(address(key))
    for kind in ("drop", "paste"):
        page.evaluate(
            """kind => {
              const transfer = new DataTransfer();
              transfer.items.add(new File(['the words'], `${kind}.txt`, { type: 'text/plain' }));
              const field = document.getElementById('message');
              const made = kind === 'drop'
                ? new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: transfer })
                : new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: transfer });
              field.dispatchEvent(made);
            }""",
            kind,
        )
        expect(page.get_by_role("list", name="Attached files")).to_contain_text(f"{kind}.txt")
    page.get_by_role("button", name="Remove paste.txt").click()
    write(page, "Here it is")
    expect(row(page, "Noted.")).to_have_count(1)
    files = transcript(page).get_by_role("list", name="Files")
    expect(files).to_have_text("drop.txt9 B")
    with page.expect_download() as caught:
        files.get_by_role("link").click()
    assert caught.value.path().read_text() == "the words"


def test_ones_own_markdown_is_shown_and_code_is_copied(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Both ways")
    page = signed_in(address(key), permissions=["clipboard-read", "clipboard-write"])
    write(page, "Run **this**:\n```sh\nls -l\n```")
    mine = transcript(page).get_by_role("article", name="You")
    expect(mine.get_by_role("strong")).to_have_text("this")
    # What is shown for a second and a half stays: the page's clock stands still from here on.
    page.clock.install(time="2026-01-01T00:00:00Z")
    page.clock.pause_at("2026-01-01T01:00:00Z")
    mine.get_by_role("button", name="Copy code").click()
    expect(mine.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "ls -l"


def test_a_sub_agent_is_a_card_that_opens(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Parents")
    model.on("Split it", calls(("sessions_spawn", {"task": "Count the chairs", "label": "Counting"})), text("Started."))
    client.ended(client.say(key, "Split it"))
    page = signed_in(address(key))
    card = transcript(page).get_by_role("link", name=re.compile("Sub-agent"))
    expect(card).to_contain_text("Counting")
    card.click()
    expect(transcript(page)).to_contain_text("Count the chairs")


@requirement("S3.ui.label", "S3.ui.switch", "S3.ui.querykey", "S3.accept")
def test_the_plan_panel_shows_the_state_of_the_open_session_alone(signed_in: OpenPage, client: Client) -> None:
    keys = [client.open_lane(f"Desk {number}") for number in range(3)]
    for key in keys:
        client.ended(client.say(key, "Hello"))
    client.post("/api/plans/enable", {"sessionId": keys[1]})
    page = signed_in(address(keys[0]))
    plan, auto = page.get_by_role("region", name="Plan"), page.get_by_role("region", name="Auto")
    for panel in (plan, auto):
        expect(panel).to_contain_text("of Desk 0")
    expect(plan).to_contain_text("Plan mode is off")
    held: list[Route] = []
    page.route("**/api/plans?*", lambda route: held.append(route))
    for number in (1, 2):
        chats(page, f"Desk {number}")
    expect(page).to_have_title(re.compile("^Desk 2"))
    # The answer for the session that was left comes last.
    for route in reversed(held):
        route.continue_()
    page.unroute("**/api/plans?*")
    expect(plan).to_contain_text("of Desk 2")
    expect(plan).to_contain_text("Plan mode is off")
    chats(page, "Desk 1")
    expect(plan).to_contain_text("of Desk 1")
    expect(plan).to_contain_text("Plan mode is on")
    plan.get_by_role("button", name="Turn off").click()
    expect(plan).to_contain_text("Plan mode is off")


def test_an_auto_run_is_started_and_stopped_in_its_panel(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("By itself")
    client.ended(client.say(key, "Hello"))
    page = signed_in(address(key))
    auto = page.get_by_role("region", name="Auto")
    auto.get_by_role("textbox", name="What it works on by itself").fill("Tidy the shelves")
    auto.get_by_role("button", name="Start").click()
    auto.get_by_role("button", name="Stop auto run").click()
    expect(auto).to_contain_text("No auto run")
