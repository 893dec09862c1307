"""Home: what needs a person, settled in place; who is at work; what happened meanwhile."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.requirements.mark import requirement
from tests.scripted_gateway import calls, http_error, text

ADD = ("artifact_add", {"text": "the report"})


def working(page: Page, name: str) -> Locator:
    """The row of a session in which an agent is at work."""
    return page.get_by_role("region", name="At work").get_by_role("listitem").filter(has_text=name).first


def since(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="Since you last looked").get_by_role("listitem").filter(has_text=name).first


def needs(page: Page) -> Locator:
    return page.get_by_role("region", name="Needs you")


def need(page: Page, what: str) -> Locator:
    return needs(page).get_by_role("listitem").filter(has_text=what)


def count(page: Page, caption: str) -> Locator:
    return page.locator("dl > div").filter(has_text=caption).get_by_role("definition")


def toast(page: Page, said: str) -> Locator:
    return page.get_by_role("region", name="Messages").get_by_role("status").filter(has_text=said)


def ask(client: Client, model: ScriptedModel, name: str, line: str, question: str) -> str:
    """Let an agent ask something in a new lane and return the run."""
    model.on(line, calls(("request_input", {"question": question})))
    return client.say(client.open_lane(name), line)


def fail(client: Client, model: ScriptedModel, line: str, *then: str) -> None:
    model.on(line, http_error(400, "the printer has no paper"), *map(text, then))
    client.ended(client.say(client.open_lane(f"Lane of {line}"), line))


def test_work_appears_and_ends_without_reload(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    page.evaluate("window.untouched = true")
    gate = model.hold("and the globes")
    key = client.open_lane("Maps")
    run = client.say(key, "Count the maps\nand the globes")
    row = working(page, "Maps")
    expect(row).to_contain_text("working")
    expect(row).to_contain_text("Count the maps")
    expect(row).not_to_contain_text("globes")
    expect(count(page, "at work")).to_have_text("1")
    gate.open()
    client.ended(run)
    expect(since(page, "Maps")).to_contain_text("Done at last.")
    expect(count(page, "at work")).to_have_text("0")
    assert page.evaluate("window.untouched") is True


def test_the_queue_grows_and_a_queued_run_can_be_cancelled(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    gate = model.hold("First in line")
    key = client.open_lane("Long queue")
    client.say(key, "First in line")
    gate.wait_reached()
    picture = working(page, "Long queue").get_by_role("img")
    expect(picture).to_have_accessible_name("1 running")
    client.say(key, "Second in line")
    expect(picture).to_have_accessible_name("1 running, 1 queued")
    client.say(key, "Third in line")
    expect(picture).to_have_accessible_name("1 running, 2 queued")

    page.get_by_text("2 queued runs of Long queue").click()
    queue = working(page, "Long queue").get_by_role("list").get_by_role("listitem")
    expect(queue).to_have_count(2)
    expect(queue.nth(0)).to_contain_text("Second in line")
    page.get_by_role("button", name="Cancel: Second in line").click()
    expect(queue).to_have_count(1)
    expect(queue.nth(0)).to_contain_text("Third in line")
    expect(picture).to_have_accessible_name("1 running, 1 queued")
    gate.open()
    expect(picture).to_be_hidden()


@requirement("P.waiting")
def test_a_question_is_listed_and_answered_in_place(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    ask(client, model, "Hall", "Book the hall", "On which day?")
    model.on("On Friday", text("Booked for Friday."))
    expect(count(page, "waiting for you")).to_have_text("1")
    need(page, "On which day?").get_by_role("button", name="Answer").click()
    panel = page.get_by_role("complementary", name="Question")
    expect(panel).to_contain_text("Book the hall")
    field = panel.get_by_role("textbox", name="Your answer")
    expect(field).to_be_focused()
    assert "peek=run_" in page.url, "what is open is part of the address"
    field.fill("On Friday")
    field.press("Enter")
    expect(toast(page, "Sent. The run continues.")).to_be_visible()
    expect(panel).to_be_hidden()
    expect(need(page, "On which day?")).to_have_count(0)
    expect(since(page, "Hall")).to_contain_text("Booked for Friday.")


def test_an_answer_can_be_undone_for_a_while_even_on_another_page(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    run = ask(client, model, "Tent", "Rent the tent", "How large?")
    need(page, "How large?").get_by_role("button", name="Answer").click()
    field = page.get_by_role("textbox", name="Your answer")
    field.fill("As large as the hall")
    field.press("Enter")
    expect(need(page, "How large?")).to_have_count(0)
    page.get_by_role("link", name="Board", exact=True).click()
    toast(page, "The answer is sent in 5 seconds.").get_by_role("button", name="Undo").click()
    page.get_by_role("link", name="Home", exact=True).click()
    need(page, "How large?").get_by_role("button", name="Answer").click()
    expect(field).to_have_value("As large as the hall")
    assert client.http.get(f"/api/runs/{run}").json()["run"]["state"] == "waiting"


@pytest.mark.parametrize(("button", "said"), [("Approve", "It is filed."), ("Refuse", "Not filed.")])
def test_an_approval_is_decided_from_the_list(
    signed_in: OpenPage, client: Client, model: ScriptedModel, button: str, said: str
) -> None:
    client.http.patch("/api/agents/main", json={"tools": {"ask": ["artifact_*"]}}).raise_for_status()
    page = signed_in()
    model.on(f"{button} it", calls(ADD), text(said))
    run = client.say(client.open_lane(f"Careful {button}"), f"{button} it")
    row = need(page, f"Careful {button}")
    expect(row).to_contain_text("May main add a result to its run?")
    expect(row.get_by_role("button", name=re.compile("^(Approve|Refuse|Answer)"))).to_have_text(["Approve", "Refuse"])
    expect(row.get_by_role("button", name="Answer")).to_have_count(0)
    row.get_by_role("button", name=button).click()
    expect(row).to_have_count(0)
    expect(since(page, f"Careful {button}")).to_contain_text(said)
    made = client.http.get(f"/api/runs/{run}/artifacts").json()["artifacts"]
    assert len(made) == (1 if button == "Approve" else 0)


def test_a_run_that_waits_for_a_program_is_counted_apart(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    waiting = count(page, "waiting for you")
    before = waiting.text_content()
    expect(count(page, "waiting for a program")).to_have_count(0)
    model.on("What is the weather", calls(("get_weather", {"city": "Rome"})))
    weather = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
    client.post("/v1/responses", {"model": "carrel", "input": "What is the weather", "tools": [weather]})
    expect(count(page, "waiting for a program")).to_have_text("1")
    expect(waiting).to_have_text(before or "")


def test_a_half_written_answer_survives_the_changes_around_it(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    ask(client, model, "Stationery", "Order paper", "How many sheets?")
    need(page, "How many sheets?").get_by_role("button", name="Answer").click()
    field = page.get_by_role("textbox", name="Your answer")
    field.fill("Two thous")
    client.ended(client.say(client.open_lane("Another lane"), "Hello"))
    expect(since(page, "Another lane")).to_be_visible()
    expect(field).to_have_value("Two thous")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Cancel run").click()
    expect(field).to_be_hidden()
    expect(need(page, "How many sheets?")).to_have_count(0)


def test_a_failed_run_says_why_and_is_retried_and_that_is_undone(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    fail(client, model, "Print the list")
    gate = model.hold("Print the list")
    row = need(page, "Print the list")
    expect(row).to_contain_text("Failed after one attempt")
    expect(row).to_contain_text("the printer has no paper")
    row.get_by_role("button", name="Retry").click()
    expect(row).to_have_count(0)
    expect(working(page, "Lane of Print the list")).to_be_visible()
    toast(page, "Queued again.").get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    expect(working(page, "Lane of Print the list")).to_have_count(0)
    gate.open()


def test_all_of_a_kind_are_dismissed_at_once_and_come_back_by_undo(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    for number in range(3):
        fail(client, model, f"Break {number}")
    ask(client, model, "Meanwhile", "Ask me", "Which one?")
    expect(need(page, "Which one?")).to_be_visible()
    needs(page).get_by_role("button", name=re.compile("^Failed")).click()
    expect(need(page, "Which one?")).to_have_count(0)
    assert "kind=failed" in page.url
    needs(page).get_by_role("button", name="Dismiss all").click()
    expect(need(page, "Break 0")).to_have_count(0)
    page.reload()
    expect(need(page, "Break 1")).to_have_count(0)
    page.goto("/")
    expect(need(page, "Which one?")).to_be_visible()
    fail(client, model, "Break 9")
    need(page, "Break 9").get_by_role("button", name="Dismiss").click()
    expect(need(page, "Break 9")).to_have_count(0)
    toast(page, "Dismissed.").get_by_role("button", name="Undo").click()
    expect(need(page, "Break 9")).to_be_visible()


def test_chosen_failures_are_retried_together(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    page = signed_in()
    for name in ("Left", "Right"):
        fail(client, model, f"{name} door", f"{name} is open.")
        need(page, f"{name} door").get_by_role("checkbox").check()
    expect(needs(page).get_by_text("2 rows chosen")).to_be_visible()
    needs(page).get_by_role("button", name="Retry 2 chosen").click()
    for name in ("Left", "Right"):
        expect(since(page, f"{name} is open.")).to_be_visible()
        expect(need(page, f"{name} door")).to_have_count(0)


def test_a_task_in_review_is_closed_and_reopened_from_the_list(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    task = client.post("/api/tasks", {"title": "Paint the fence", "assignedAgentIds": ["main"]})["task"]["id"]
    client.http.patch(f"/api/tasks/{task}", json={"status": "review"}).raise_for_status()
    need(page, "Paint the fence").get_by_role("button", name="Mark done").click()
    expect(need(page, "Paint the fence")).to_have_count(0)
    # The page shows a change before the server has made it.
    with page.expect_response(lambda answer: answer.request.method not in ("GET", "HEAD")):
        toast(page, "The task is done.").get_by_role("button", name="Undo").click()
    expect(need(page, "Paint the fence")).to_be_visible()
    assert client.http.get(f"/api/tasks/{task}").json()["task"]["status"] == "review"


def test_a_review_shows_whose_task_it_is_and_what_was_said_last(signed_in: OpenPage, client: Client) -> None:
    person = client.post("/api/users", {"name": "Ann Lee", "slug": "ann"})["user"]["id"]
    task = client.post("/api/tasks", {"title": "Oil the gate", "assignedUserIds": [person]})["task"]["id"]
    client.post(f"/api/tasks/{task}/messages", {"content": "It no longer squeaks."})
    client.http.patch(f"/api/tasks/{task}", json={"status": "in_progress"}).raise_for_status()
    client.http.patch(f"/api/tasks/{task}", json={"status": "review"}).raise_for_status()
    page = signed_in()
    row = need(page, "Oil the gate")
    expect(row).to_contain_text("Ann Lee")
    row.get_by_role("button", name="Oil the gate", exact=True).click()
    expect(page.get_by_role("region", name="Last message")).to_contain_text("It no longer squeaks.")


def test_a_blocked_task_is_listed_with_its_reason(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    body = {"title": "Mow the lawn", "status": "blocked", "blockedReason": "The mower is broken"}
    client.post("/api/tasks", body)
    expect(need(page, "Mow the lawn")).to_contain_text("The mower is broken")


def test_a_refused_change_says_why_with_the_request_and_a_retry(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in()
    run = ask(client, model, "Two answers", "Paint it", "Which colour?")
    need(page, "Which colour?").get_by_role("button", name="Answer").click()
    page.get_by_role("textbox", name="Your answer").fill("Red")
    page.route("**/answer", lambda route: route.abort())
    page.get_by_role("complementary", name="Question").get_by_role("button", name="Answer").click()
    failure = page.get_by_role("alert").filter(has_text="The answer was not taken: The server cannot be reached.")
    expect(failure).to_be_visible()
    page.unroute("**/answer")
    failure.get_by_role("button", name="Retry").click()
    expect(need(page, "Which colour?")).to_have_count(0)
    client.ended(run)


def test_the_list_is_walked_and_opened_by_keyboard(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    for question in ("The first?", "The second?"):
        ask(client, model, question, f"Ask {question}", question)
    page = signed_in()
    expect(need(page, "The second?")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="Your answer")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(needs(page).get_by_role("listitem").first).to_be_focused()


def test_a_row_leads_to_its_chat_and_back_works(signed_in: OpenPage, client: Client) -> None:
    page = signed_in()
    client.ended(client.say(client.open_lane("Reading"), "Is anybody here?"))
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
    expect(since(page, "Meanwhile")).to_be_visible()
