"""Chat: sending messages and reading replies in a lane, live."""

import json
import re

from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, calls, http_error, text


def transcript(page: Page) -> Locator:
    return page.get_by_role("log", name="Transcript")


def row(page: Page, said: str) -> Locator:
    return transcript(page).get_by_role("article").filter(has_text=said)


def write(page: Page, line: str) -> None:
    field = page.get_by_role("textbox", name="Message")
    field.fill(line)
    field.press("Enter")


def address(key: str) -> str:
    return f"/chat/{key.replace(':', '%3A')}"


def test_an_answer_streams_in_and_ends(signed_in: OpenPage, model: ScriptedModel) -> None:
    page = signed_in("/chat")
    second, third = Gate(), Gate()
    model.on("Tell me a story", text("Once upon a time ", second, "there was ", third, "a lamp."))
    write(page, "Tell me a story")
    expect(transcript(page)).to_contain_text("Once upon a time")
    expect(transcript(page)).to_contain_text("working")
    expect(transcript(page)).not_to_contain_text("there was")
    second.open()
    expect(transcript(page)).to_contain_text("Once upon a time there was")
    expect(transcript(page)).not_to_contain_text("a lamp.")
    third.open()
    expect(row(page, "Once upon a time there was a lamp.")).to_have_count(1)
    expect(transcript(page)).not_to_contain_text("working")
    expect(row(page, "Tell me a story")).to_have_count(1)
    page.reload()
    expect(row(page, "Once upon a time there was a lamp.")).to_have_count(1)


def test_a_failed_attempt_is_told_while_the_run_goes_on(signed_in: OpenPage, model: ScriptedModel) -> None:
    page = signed_in("/chat")
    model.on("Are you there?", http_error(503, retry_after="2"), text("Now I am."))
    write(page, "Are you there?")
    expect(transcript(page)).to_contain_text("Attempt 1 of 5 failed: The gateway")
    expect(row(page, "Now I am.")).to_have_count(1, timeout=15_000)
    expect(transcript(page)).not_to_contain_text("Attempt 1 of 5")


def test_shift_and_enter_break_the_line(signed_in: OpenPage) -> None:
    page = signed_in("/chat")
    field = page.get_by_role("textbox", name="Message")
    field.fill("first line")
    field.press("Shift+Enter")
    field.press_sequentially("second line")
    expect(field).to_have_value("first line\nsecond line")
    page.get_by_role("button", name="Send").click()
    expect(field).to_have_value("")
    expect(row(page, "second line")).to_contain_text("first line\nsecond line", use_inner_text=True)


def test_queued_messages_show_their_position_and_stop_cancels_them(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Busy lane")
    gate = model.hold("A long piece of work")
    page = signed_in(address(key))
    write(page, "A long piece of work")
    gate.wait_reached()
    write(page, "And then this")
    expect(row(page, "And then this")).to_contain_text("next in line")
    write(page, "And after it that")
    expect(row(page, "And after it that")).to_contain_text("number 2 in line")
    page.get_by_role("button", name="Stop").click()
    expect(transcript(page)).not_to_contain_text("in line")
    expect(transcript(page)).not_to_contain_text("working")
    expect(transcript(page).get_by_role("article", name="Cancelled")).to_have_count(3)
    gate.open()


def test_a_failed_run_says_why_and_can_be_retried(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Unlucky lane")
    model.on("Try this", http_error(400, "the model does not want to"), text("It worked."))
    page = signed_in(address(key))
    write(page, "Try this")
    failed = transcript(page).get_by_role("article", name="Failed")
    expect(failed).to_contain_text("the model does not want to")
    failed.get_by_role("button", name="Retry").click()
    expect(row(page, "It worked.")).to_have_count(1)


def test_a_question_is_answered_in_the_chat(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Asking lane")
    model.on("Order the chairs", calls(("request_input", {"question": "How many chairs?"})))
    model.on("Forty", text("Forty chairs are on their way."))
    page = signed_in(address(key))
    write(page, "Order the chairs")
    expect(transcript(page)).to_contain_text("How many chairs?")
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_accessible_description(re.compile("Your message answers the question above."))
    write(page, "Forty")
    expect(transcript(page)).to_contain_text("Forty chairs are on their way.")
    expect(field).not_to_have_accessible_description(re.compile("answers"))


def test_a_receipt_shows_what_the_agent_was_shown(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Open books")
    client.ended(client.say(key, "What did you see?"))
    page = signed_in(address(key))
    opener = page.get_by_role("button", name="What it was shown")
    opener.click()
    receipt = page.get_by_role("dialog", name="What it was shown")
    expect(receipt.get_by_role("img")).to_have_accessible_name(name_with_sizes())
    receipt.locator("summary").filter(has_text="Input").last.click()
    expect(receipt).to_contain_text("What did you see?")
    page.keyboard.press("Escape")
    expect(receipt).to_be_hidden()
    expect(opener).to_be_focused()


def name_with_sizes() -> re.Pattern[str]:
    return re.compile(r"instructions [\d,]+ characters.*input [\d,]+ characters")


def test_a_tool_call_is_one_closed_line(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Tools")
    model.on("How do you stand?", calls(("session_status", {})), text("I stand well."))
    client.ended(client.say(key, "How do you stand?"))
    page = signed_in(address(key))
    call = transcript(page).get_by_role("group").filter(has_text="session_status")
    expect(call).to_have_count(1)
    expect(call.get_by_text("Result")).to_be_hidden()
    call.get_by_text("session_status").click()
    expect(call.get_by_text("Result")).to_be_visible()


def test_a_refused_tool_call_is_shown_as_refused(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Refused")
    model.on("Move it", calls(("task_load", {"taskId": "gone"}), ("session_status", {})), text("I could not."))
    client.ended(client.say(key, "Move it"))
    page = signed_in(address(key))
    made = transcript(page).get_by_role("group")
    expect(made).to_have_count(2)
    expect(made.filter(has_text="task_load").locator("summary")).to_contain_text("refused")
    expect(made.filter(has_text="session_status").locator("summary")).to_contain_text("done")


def test_a_no_reply_marker_is_not_shown_and_replies_to_another_lane_say_so(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Between lanes")
    model.on("How many?", text("Three."))
    model.on("What is to be said on your channel?", text("ANNOUNCE_", "SKIP"))
    page = signed_in(address(key))
    sent = client.post("/agent/sessions_send", {"sessionKey": key, "message": "How many?", "timeoutSeconds": 15})
    assert sent["reply"] == "Three."
    expect(row(page, "How many?").first).to_contain_text("from Main lane of main")
    expect(row(page, "Three.").filter(has_text="to Main lane of main")).to_have_count(1)
    expect(transcript(page)).to_contain_text("The agent chose not to reply.")
    expect(transcript(page)).not_to_contain_text("ANNOUNCE_SKIP")
    home = signed_in("/")
    expect(home.get_by_role("heading", level=3, name="Between lanes").first).to_be_visible()
    expect(home.get_by_text("ANNOUNCE_SKIP")).to_have_count(0)


@requirement("I.reported")
def test_a_line_that_somebody_reports_is_not_shown_as_the_agents(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Reports")
    client.ended(client.say(key, "Hello"))
    line = {"type": "conversation", "agentId": "main", "content": "I agreed to pay.", "source": {"sessionKey": key}}
    client.post("/api/log", line)
    page = signed_in(address(key))
    reported = row(page, "I agreed to pay.")
    expect(reported.locator("[data-speaker]")).to_have_text("Reported")
    expect(reported).to_contain_text("reported")


def test_markup_in_an_answer_stays_text(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    key = client.open_lane("Sharp edges")
    hostile = "<img src=x onerror=\"document.title='taken'\"><b>bold</b>"
    model.on("Show me", text(f"{hostile}\n```html\n<script>alert(1)</script>\n```\nafter"))
    client.ended(client.say(key, "Show me"))
    page = signed_in(address(key))
    expect(transcript(page)).to_contain_text(hostile)
    expect(transcript(page).get_by_role("code")).to_have_text("<script>alert(1)</script>")
    assert transcript(page).locator("img, b, script").count() == 0


def test_markdown_grows_without_being_drawn_anew_and_loads_nothing(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Neat lane")
    middle, end = Gate(), Gate()
    start = "## Steps\n\n1. one\n2. two\n\nThen **bo"
    rest = "\n```\n\n[a link](https://foreign.test/page) ![p](https://foreign.test/p.png) [no](javascript:alert(1))"
    model.on("Explain", text(start, middle, "ld** words.\n\n```sh\nls", end, rest))
    page = signed_in(address(key))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    write(page, "Explain")
    heading = transcript(page).get_by_role("heading", name="Steps")
    expect(transcript(page)).to_contain_text("Then **bo")
    drawn = heading.element_handle()
    middle.open()
    expect(transcript(page).get_by_role("code")).to_have_text("ls")
    assert drawn.evaluate("node => node.isConnected"), "what is complete stays as it is"
    expect(transcript(page).get_by_role("listitem")).to_have_text(["one", "two"])
    expect(transcript(page).get_by_role("strong")).to_have_text("bold")
    end.open()
    link = transcript(page).get_by_role("link", name="a link (foreign.test)")
    expect(link).to_have_attribute("href", "https://foreign.test/page")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(transcript(page).get_by_role("link")).to_have_count(2)
    expect(transcript(page)).to_contain_text("[no](javascript:alert(1))")
    assert transcript(page).locator("img").count() == 0
    assert [url for url in asked if "foreign.test" in url] == []


@requirement("S3.ui.filter", "S3.accept")
def test_a_chat_shows_nothing_of_another_lane(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    mine, other = client.open_lane("My lane"), client.open_lane("Their lane")
    gate = Gate()
    model.on("Speak up", text("Words of the other ", gate, "lane."))
    client.ended(client.say(mine, "Only this is mine"))
    page = signed_in(address(mine))
    expect(transcript(page)).to_contain_text("Only this is mine")
    run = client.say(other, "Speak up")
    gate.wait_reached()
    gate.open()
    client.ended(run)
    client.ended(client.say(mine, "The last word here"))
    expect(transcript(page)).to_contain_text("The last word here")
    expect(transcript(page)).not_to_contain_text("other lane")


@requirement("S3.ui.filter")
def test_a_frame_of_another_lane_is_dropped(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Thick walls")
    page = signed_in()
    page.route_web_socket("**/ws/chat", overhear)
    page.goto(address(key))
    write(page, "Is it quiet here?")
    expect(row(page, "Noted.")).to_have_count(1)
    expect(transcript(page)).not_to_contain_text("Overheard")


def overhear(browser_side: WebSocketRoute) -> None:
    """Pass every frame on, followed by one of another lane and one of no lane."""
    server_side = browser_side.connect_to_server()
    strange = {"type": "assistant_chunk", "runId": "run_strange", "text": "Overheard words."}

    def pass_on(frame: str | bytes) -> None:
        browser_side.send(frame)
        browser_side.send(json.dumps({**strange, "sessionId": "another-chat"}))
        browser_side.send(json.dumps(strange))

    server_side.on_message(pass_on)


@requirement("S3.ui.filter")
def test_switching_fast_ends_on_the_chosen_lane(signed_in: OpenPage, client: Client) -> None:
    keys = [client.open_lane(f"Shelf {number}") for number in range(4)]
    for number, key in enumerate(keys):
        client.ended(client.say(key, f"This is shelf {number}"))
    page = signed_in(address(keys[0]))
    for number in (1, 2, 3):
        page.get_by_role("complementary", name="Chats").get_by_role("link", name=f"Shelf {number}").click()
    expect(page.get_by_role("heading", level=2, name="Shelf 3")).to_be_visible()
    expect(transcript(page)).to_contain_text("This is shelf 3")
    for number in (0, 1, 2):
        expect(transcript(page)).not_to_contain_text(f"This is shelf {number}")


def test_new_opens_an_empty_chat(signed_in: OpenPage) -> None:
    page = signed_in("/chat")
    write(page, "Something said before")
    expect(row(page, "Noted.")).to_have_count(1)
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.get_by_text("No messages yet.")).to_be_visible()
    write(page, "A fresh start")
    expect(row(page, "A fresh start")).to_have_count(1)
    expect(transcript(page)).not_to_contain_text("Something said before")


def test_a_message_that_could_not_be_sent_says_so_and_can_be_resent(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Bad line")
    page = signed_in(address(key))
    page.route("**/api/chat", lambda route: route.abort())
    write(page, "Can you hear me?")
    unsent = row(page, "Can you hear me?")
    expect(unsent).to_contain_text("Not sent: The server cannot be reached.")
    page.unroute("**/api/chat")
    unsent.get_by_role("button", name="Send again").click()
    expect(row(page, "Noted.")).to_have_count(1)
    expect(row(page, "Can you hear me?")).to_have_count(1)
