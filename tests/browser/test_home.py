"""Home: live lanes, and what needs a person."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.requirements.mark import requirement
from tests.scripted_gateway import calls, http_error, text


def lane(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", level=3, name=name))


def count(page: Page, caption: str) -> Locator:
    return page.locator("dl.figures > div").filter(has_text=caption).get_by_role("definition")


def test_a_lane_appears_and_changes_without_reload(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    page.evaluate("window.untouched = true")
    gate = model.hold("and the globes")
    key = client.open_lane("Maps")
    run = client.say(key, "Count the maps\nand the globes")
    row = lane(page, "Maps")
    expect(row).to_contain_text("Busy")
    expect(row).to_contain_text("Count the maps")
    expect(row).not_to_contain_text("globes")
    expect(count(page, "busy lanes")).to_have_text("1")
    gate.open()
    client.ended(run)
    expect(row).to_contain_text("Idle")
    assert page.evaluate("window.untouched") is True


def test_the_queue_chart_grows_and_a_queued_run_can_be_cancelled(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    gate = model.hold("First in line")
    key = client.open_lane("Long queue")
    client.say(key, "First in line")
    gate.wait_reached()
    picture = lane(page, "Long queue").get_by_role("img")
    expect(picture).to_have_accessible_name("1 running")
    client.say(key, "Second in line")
    expect(picture).to_have_accessible_name("1 running, 1 queued")
    client.say(key, "Third in line")
    expect(picture).to_have_accessible_name("1 running, 2 queued")

    page.get_by_role("button", name="Queue of main, Long queue").click()
    queue = lane(page, "Long queue").get_by_role("list").get_by_role("listitem")
    expect(queue).to_have_count(3)
    expect(queue.nth(1)).to_contain_text("Second in line")
    page.get_by_role("button", name="Cancel: Second in line").click()
    expect(queue).to_have_count(2)
    expect(queue.nth(1)).to_contain_text("Third in line")
    expect(picture).to_have_accessible_name("1 running, 1 queued")
    gate.open()
    expect(picture).to_have_accessible_name("empty queue")


@requirement("P.waiting")
def test_a_waiting_run_is_listed_and_answered(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    model.on("Book the hall", calls(("request_input", {"question": "On which day?"})))
    model.on("On Friday", text("Booked for Friday."))
    client.say(client.open_lane("Hall"), "Book the hall")
    waiting = page.get_by_role("region", name="Waiting for you")
    expect(waiting).to_contain_text("On which day?")
    expect(count(page, "waiting for you")).to_have_text("1")
    waiting.get_by_role("textbox", name="Your answer").fill("On Friday")
    waiting.get_by_role("button", name="Answer").click()
    expect(waiting).to_be_hidden()
    expect(lane(page, "Hall")).to_contain_text("Idle")


def test_a_run_that_waits_for_a_program_is_counted_apart(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    expect(count(page, "waiting for a program")).to_be_hidden()
    model.on("What is the weather", calls(("get_weather", {"city": "Rome"})))
    weather = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
    client.post("/v1/responses", {"model": "carrel", "input": "What is the weather", "tools": [weather]})
    expect(count(page, "waiting for a program")).to_have_text("1")
    expect(count(page, "waiting for you")).to_have_text("0")
    expect(page.get_by_role("region", name="Waiting for you")).to_be_hidden()


def test_a_half_written_answer_survives_the_changes_around_it(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    model.on("Order paper", calls(("request_input", {"question": "How many sheets?"})))
    client.say(client.open_lane("Stationery"), "Order paper")
    field = page.get_by_role("textbox", name="Your answer")
    field.fill("Two thous")
    client.ended(client.say(client.open_lane("Another lane"), "Hello"))
    expect(lane(page, "Another lane")).to_contain_text("Idle")
    expect(field).to_have_value("Two thous")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Cancel run").click()
    expect(field).to_be_hidden()


def test_a_failed_run_says_why_and_can_be_retried(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    model.on("Print the list", http_error(400, "the printer has no paper"), text("Printed."))
    client.ended(client.say(client.open_lane("Printing"), "Print the list"))
    failed = page.get_by_role("region", name="Failed").get_by_role("listitem").filter(has_text="Print the list")
    expect(failed).to_contain_text("Failed after one attempt")
    expect(failed).to_contain_text("the printer has no paper")
    failed.get_by_role("button", name="Retry").click()
    expect(failed).to_contain_text("Queued again.")
    expect(lane(page, "Printing")).to_contain_text("Printed.")


def test_the_filter_keeps_the_lanes_that_hold_every_word(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    client.ended(client.say(client.open_lane("Rare books"), "Hello"))
    client.ended(client.say(client.open_lane("Common books"), "Hello"))
    expect(lane(page, "Rare books")).to_be_visible()
    page.get_by_role("searchbox", name="Filter lanes").fill("books rare")
    expect(lane(page, "Common books")).to_be_hidden()
    expect(lane(page, "Rare books")).to_be_visible()


def test_a_lane_leads_to_its_chat(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    key = client.open_lane("Reading")
    client.ended(client.say(key, "Is anybody here?"))
    page.get_by_role("link", name="Reading").click()
    expect(page.get_by_role("log", name="Transcript")).to_contain_text("Is anybody here?")
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()


def test_changes_made_while_offline_appear_afterwards(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    connection = page.get_by_role("status", name="Connection")
    page.context.set_offline(True)
    expect(connection).to_have_text("Offline")
    client.ended(client.say(client.open_lane("Meanwhile"), "Hello"))
    page.context.set_offline(False)
    expect(connection).to_have_text("Live")
    expect(lane(page, "Meanwhile")).to_be_visible()
