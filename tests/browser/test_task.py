"""A task's page: its thread, why it is not moving, and everything that changes it, live."""

import re

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.harness.process import RunningServer
from tests.requirements.mark import requirement
from tests.scripted_gateway import calls, text


@pytest.fixture(scope="module", autouse=True)
def _ann(server: RunningServer) -> None:
    with server.client() as http:
        http.post("/api/users", json={"name": "Ann Lee", "slug": "ann"}).raise_for_status()


def make(client: Client, title: str, **more: object) -> str:
    return str(client.post("/api/tasks", {"title": title, **more})["task"]["id"])


def status(client: Client, task_id: str) -> str:
    return str(client.http.get(f"/api/tasks/{task_id}").json()["task"]["status"])


def test_only_legal_moves_are_offered_and_the_reasons_come_with_buttons(signed_in: OpenPage, client: Client) -> None:
    made = make(client, "Repair the clock")
    page = signed_in(f"/tasks/{made}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Repair the clock")
    expect(page.get_by_role("region", name="Why it is not moving")).to_contain_text("Nobody is assigned to the task.")
    page.get_by_role("button", name="Assign somebody").click()
    page.get_by_role("menuitem", name="Ann Lee").click()
    expect(page.get_by_role("button", name="Take Ann Lee off")).to_be_visible()
    expect(page.get_by_role("region", name="Why it is not moving")).to_contain_text("It is up to Ann Lee.")
    page.get_by_role("button", name="Move to", exact=True).click()
    expect(page.get_by_role("menuitem")).to_have_text(["Inbox", "In progress", "Review", "Blocked", "Done", "Archive"])
    page.get_by_role("menuitem", name="Blocked").click()
    page.get_by_role("dialog", name="Why is it blocked?").get_by_role("textbox", name="Reason").fill("No springs")
    page.keyboard.press("Enter")
    reasons = page.get_by_role("region", name="Why it is not moving")
    expect(reasons).to_contain_text("The task is blocked: No springs")
    # The page shows the move before the server has made it.
    with page.expect_response(lambda answer: made in answer.url and answer.request.method != "GET"):
        reasons.get_by_role("button", name="Move to In progress").click()
    expect(page.locator("[data-state=in_progress]").first).to_be_visible()
    assert status(client, made) == "in_progress"


@requirement("P.ui.first")
def test_the_tasks_around_a_task_are_shown_live_without_reading_every_task(signed_in: OpenPage, client: Client) -> None:
    whole = make(client, "Open the new wing")
    first = make(client, "Paint the walls")
    one = make(client, "Hang the pictures", parentId=whole, dependencies=[first])
    later = make(client, "Invite the press", dependencies=[one])
    make(client, "Mend the lift")
    part = make(client, "Buy the nails", parentId=one)
    page = signed_in("/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"/tasks/{one}")
    about = page.get_by_role("complementary", name="About this task")
    groups = ("Part of", "Open the new wing"), ("Sub-tasks", "Buy the nails"), ("Waits for this", "Invite the press")
    for group, title in (*groups, ("Waits for", "Paint the walls")):
        expect(about.get_by_role("region", name=group).first).to_contain_text(title)
    client.http.patch(f"/api/tasks/{part}", json={"title": "Buy longer nails"}).raise_for_status()
    expect(about).to_contain_text("Buy longer nails")
    client.http.patch(f"/api/tasks/{later}", json={"dependencies": []}).raise_for_status()
    expect(about).not_to_contain_text("Invite the press")
    assert [url for url in asked if "/api/tasks?" in url and "relatedTo" not in url] == []
    about.get_by_role("textbox", name="Task to wait for").fill("mend")
    about.get_by_role("button", name="Mend the lift").click()
    expect(about.get_by_role("button", name="Do not wait for Mend the lift")).to_be_visible()


def test_a_question_is_answered_in_place_and_the_answer_reaches_the_thread(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    made = make(client, "Paint the shelf", assignedUserIds=["ann"])
    model.on("@main which paint do we have?", calls(("request_input", {"question": "Which **colour**?"})))
    model.on("green", text("Then it is green."))
    page = signed_in(f"/tasks/{made}")
    field = page.get_by_role("textbox", name="Message")
    field.press_sequentially("@ma")
    expect(page.get_by_role("option", name=re.compile("@main"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(field).to_have_value("@main ")
    field.press_sequentially("which paint do we have?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log", name="Thread")).to_contain_text("which paint do we have?")
    asked = page.get_by_role("region", name="Question")
    expect(asked.locator("strong")).to_have_text("colour")
    asked.get_by_role("textbox", name="Your answer").fill("green")
    page.keyboard.press("Enter")
    expect(asked).to_have_count(0)
    expect(page.get_by_role("log", name="Thread")).to_contain_text("Then it is green.")
    page.get_by_role("tab", name="Runs and sessions").click()
    assert "tab=work" in page.url
    expect(page.get_by_role("tabpanel")).to_contain_text("Generation 1")
    page.reload()
    expect(page.get_by_role("tabpanel")).to_contain_text("Completed")


def test_a_thread_says_who_works_on_an_answer_and_who_has_read_it(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    gate = model.hold("Which brush is it?")
    page = signed_in(f"/tasks/{make(client, 'Paint the door', assignedAgentIds=['main'])}")
    field = page.get_by_role("textbox", name="Message")
    field.fill("Which brush is it?")
    field.press("Enter")
    typing = page.get_by_role("status", name="Typing")
    expect(typing).to_contain_text("Main is working on an answer")
    gate.open()
    expect(page.get_by_role("log")).to_contain_text("Done at last.")
    expect(page.get_by_role("log").get_by_text("Seen by the owner")).to_be_visible()
    expect(typing).to_be_empty()


def test_what_another_client_changes_appears_and_a_draft_survives_a_reload(signed_in: OpenPage, client: Client) -> None:
    made = make(client, "Label the jars")
    other = make(client, "Buy labels")
    page = signed_in(f"/tasks/{made}")
    field = page.get_by_role("textbox", name="Message")
    field.fill("not sent yet")
    client.post(f"/api/tasks/{made}/messages", {"content": "From **elsewhere** <b>x</b>"})
    said = page.get_by_role("log", name="Thread").get_by_role("article")
    expect(said).to_contain_text("From elsewhere <b>x</b>")
    client.http.patch(f"/api/tasks/{made}", json={"title": "Label all jars"}).raise_for_status()
    expect(page.get_by_role("heading", level=1)).to_have_text("Label all jars")
    page.get_by_role("textbox", name="Task to wait for").fill("buy lab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Waits for")).to_contain_text("Buy labels")
    page.get_by_role("textbox", name="New sub-task").fill("Wash the jars")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Sub-tasks, 0 of 1 done")).to_contain_text("Wash the jars")
    page.reload()
    expect(field).to_have_value("not sent yet")
    expect(page.get_by_role("region", name="Why it is not moving")).to_contain_text("“Buy labels”")
    page.get_by_role("button", name="Open that task").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Buy labels")
    assert page.url.endswith(f"/tasks/{other}")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Label all jars")


def test_files_are_sent_with_a_message(signed_in: OpenPage, client: Client) -> None:
    made = make(client, "File the letter")
    page = signed_in(f"/tasks/{made}")
    letter = FilePayload(name="<b>letter</b>.txt", mimeType="text/plain", buffer=b"Dear reader")
    page.locator("input[type=file]").set_input_files(letter)
    expect(page.get_by_role("list", name="Files to send")).to_contain_text("letter")
    page.get_by_role("textbox", name="Message").fill("Here it is")
    page.get_by_role("button", name="Send").click()
    said = page.get_by_role("log", name="Thread").get_by_role("article")
    with page.expect_download() as download:
        said.get_by_role("link", name=re.compile("letter")).click()
    assert download.value.path().read_bytes() == b"Dear reader"
