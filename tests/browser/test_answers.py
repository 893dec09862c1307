"""Questions in the chat: answered by the next message, decided by buttons or words, never by accident."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.browser.test_chat import address, row, transcript, write
from tests.scripted_gateway import calls, text

ADD = ("artifact_add", {"text": "**the** report"})


@pytest.fixture(autouse=True)
def careful(client: Client) -> None:
    client.http.patch("/api/agents/main", json={"tools": {"ask": ["artifact_*"]}}).raise_for_status()


def described(page: Page, words: str) -> None:
    """Wait until the field says so of its text."""
    expect(page.get_by_role("textbox", name="Message")).to_have_accessible_description(re.compile(words))


def test_an_approval_is_decided_by_keyboard_by_words_or_by_buttons(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Careful lane")
    model.on("First report", calls(ADD), text("Not written."))
    model.on("Second report", calls(ADD), text("It is filed."))
    page = signed_in(address(key))
    field = page.get_by_role("textbox", name="Message")
    write(page, "First report")
    asked = transcript(page).get_by_role("article", name="Waiting")
    expect(asked).to_contain_text("May main add a result to its run? (artifact_add)\n- text: **the** report")
    described(page, "yes, or no and why")
    write(page, "what for?")
    expect(page.get_by_role("alert").filter(has_text="Not sent: Answer yes or no")).to_be_visible()
    expect(field).to_have_value("what for?")
    field.fill("too early")
    for name in ("Approve", "Refuse"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(row(page, "Not written.")).to_have_count(1)
    expect(row(page, "too early")).to_have_count(1)
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    write(page, "Second report")
    expect(asked).to_have_count(1)
    write(page, "yes")
    expect(row(page, "It is filed.")).to_have_count(1)
    expect(page.get_by_role("button", name="Approve")).to_be_hidden()


def test_the_list_of_chats_says_waiting_where_the_header_does(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Unsure lane")
    model.on("Paint the door", calls(("request_input", {"question": "Which colour?"})))
    model.on("red", text("Painted."))
    page = signed_in(address(key))
    write(page, "Paint the door")
    header = page.get_by_role("region", name="Open chat").get_by_label("Facts")
    listed = page.get_by_role("complementary", name="Chats").get_by_role("link", name="Unsure lane")
    expect(header).to_contain_text("Main · waiting")
    expect(listed).to_contain_text("waiting")
    write(page, "red")
    expect(row(page, "Painted.")).to_have_count(1)
    expect(header).to_contain_text("Main · idle")
    expect(listed).to_have_accessible_name("Unsure lane")


def test_nobody_answers_a_question_that_is_closed_or_that_they_have_not_seen(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Two tabs")
    model.on("Paint it", calls(("request_input", {"question": "Which colour?"})))
    model.on("Add it", calls(ADD))
    page, other = signed_in(address(key)), signed_in(address(key))
    write(page, "Paint it")
    for tab in (page, other):
        described(tab, "answers the question above")
        tab.get_by_role("textbox", name="Message").fill("Red" if tab is page else "Blue")
    other.get_by_role("textbox", name="Message").press("Enter")
    described(page, "no longer open")
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.get_by_role("alert").filter(has_text="answered elsewhere")).to_be_visible()
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_value("Red")
    field.fill("ok")
    asking = client.say(key, "Add it")
    described(page, "This text is a message of its own")
    field.press("Enter")
    expect(row(page, "ok")).to_have_count(1)
    expect(transcript(page).get_by_role("article", name="Waiting")).to_have_count(1)
    transcript(page).get_by_role("button", name="Approve").click()
    expect(transcript(page).get_by_role("article", name="Waiting")).to_have_count(0)
    assert len(client.http.get(f"/api/runs/{asking}/artifacts").json()["artifacts"]) == 1
