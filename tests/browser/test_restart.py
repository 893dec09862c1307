"""The server is killed in the middle of typing, dragging and streaming: nothing is lost, and the page goes on."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import EXPECT_MS
from tests.browser.talking import Client, ScriptedModel
from tests.browser.test_board import card, column
from tests.browser.test_chat import address, row, transcript, write
from tests.harness.process import Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, text


def connection(page: Page, state: str) -> None:
    expect(page.get_by_role("status", name="Connection")).to_have_text(re.compile(state))


@requirement("P.ui.restart")
def test_a_kill_while_one_types_drags_and_listens_loses_nothing(
    browser: Browser, start: Start, gateway: ScriptedGateway, model: ScriptedModel
) -> None:
    server = start(**reaching(gateway))
    with server.client() as http:
        client = Client(http)
        key = client.open_lane("Storm")
        task = client.post("/api/tasks", {"title": "Close the windows", "assignedUserIds": ["owners"]})["task"]["id"]
    gate = Gate()
    model.on("Tell me", text("It rains ", gate), text("It rains and it pours."))
    window = browser.new_context(base_url=server.url)
    window.set_default_timeout(EXPECT_MS)
    chat, board = window.new_page(), window.new_page()
    chat.goto(f"{address(key)}#token={server.token}")
    connection(chat, "Live")
    board.goto("/board")
    connection(board, "Live")
    for page in (chat, board):
        page.evaluate("window.untouched = true")

    write(chat, "Tell me")
    expect(transcript(chat)).to_contain_text("It rains")
    field = chat.get_by_role("textbox", name="Message")
    field.fill("Half a sen")
    lift(board, "Close the windows", "In progress")
    server.kill()
    for page in (chat, board):
        connection(page, "Reconnecting|Offline")
    field.press_sequentially("tence")
    board.mouse.up()
    refused = board.get_by_role("alert")
    expect(refused).to_contain_text("The task was not moved")
    expect(card(board, "Assigned", "Close the windows")).to_be_visible()

    gate.open()
    server = start("--port", server.url.rsplit(":", 1)[1], **reaching(gateway))
    for page in (chat, board):
        connection(page, "Live")
    with board.expect_response(lambda answer: task in answer.url and answer.request.method == "PATCH"):
        refused.get_by_role("button", name="Retry").click()
    expect(card(board, "In progress", "Close the windows")).to_be_visible()
    expect(row(chat, "It rains and it pours.")).to_have_count(1)
    expect(row(chat, "Tell me")).to_have_count(1)
    expect(field).to_have_value("Half a sentence")
    field.press("Enter")
    expect(row(chat, "Half a sentence")).to_have_count(1)
    expect(row(chat, "Noted.")).to_have_count(1)
    for page in (chat, board):
        assert page.evaluate("window.untouched") is True
    with server.client() as http:
        assert http.get(f"/api/tasks/{task}").json()["task"]["status"] == "in_progress"
    window.close()


def lift(page: Page, title: str, to: str) -> None:
    """Drag a card over a column, and do not let go of it."""
    held, over = card(page, "Assigned", title).bounding_box(), column(page, to).bounding_box()
    assert held is not None
    assert over is not None
    page.bring_to_front()
    page.mouse.move(held["x"] + 20, held["y"] + 8)
    page.mouse.down()
    page.mouse.move(held["x"] + 40, held["y"] + 20, steps=4)
    page.mouse.move(over["x"] + over["width"] / 2, over["y"] + 120, steps=8)
