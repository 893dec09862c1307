"""Steering a turn, forking a chat, replaying a step, and budgets that hold work: what a person does in the pages."""

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.browser.test_together import invite
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, calls, text

NARROW = {"width": 390, "height": 844}


@requirement("P.steer.step")
def test_a_message_is_sent_into_the_running_turn_and_its_run_says_which(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    gate, key = Gate(), client.open_lane("Papers")
    model.on("Sort the papers", calls(("session_status", {}), before=gate))
    model.on("Newest first", text("Sorted, newest first."))
    client.say(key, "Sort the papers")
    gate.wait_reached()
    page = signed_in(f"/chat/{key.replace(':', '%3A')}")
    transcript = page.get_by_role("log", name="Transcript")
    expect(transcript).to_contain_text("working")
    field = page.get_by_role("textbox", name="Message")
    field.fill("Newest first")
    field.press("Control+Enter")
    expect(transcript).to_contain_text("Heard at the agent's next step")
    gate.open()
    expect(transcript).to_contain_text("Sorted, newest first.")
    runs = client.http.get("/api/runs", params={"sessionKey": key}).json()["runs"]
    page.goto(f"/runs/{next(run['id'] for run in runs if run['steers'])}")
    page.get_by_role("link", name="The run that it was sent into").click()
    expect(page.get_by_role("heading", name="Sort the papers")).to_be_visible()


@requirement("P.fork.history")
def test_a_chat_is_forked_from_an_entry_and_goes_on_by_itself(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Plans")
    for said, reply in (("First plan", "Plan A."), ("Second plan", "Plan B."), ("Another way", "Plan C.")):
        model.on(said, text(reply))
    for said in ("First plan", "Second plan"):
        client.ended(client.say(key, said))
    page = signed_in(f"/chat/{key.replace(':', '%3A')}")
    transcript = page.get_by_role("log", name="Transcript")
    expect(transcript).to_contain_text("Plan B.")
    page.get_by_role("button", name="Fork from: Plan A.").click()
    expect(transcript).not_to_contain_text("Plan B.")
    expect(transcript).to_contain_text("Plan A.")
    field = page.get_by_role("textbox", name="Message")
    field.fill("Another way")
    field.press("Enter")
    expect(transcript).to_contain_text("Plan C.")
    page.goto(f"/chat/{key.replace(':', '%3A')}")
    expect(transcript).to_contain_text("Plan B.")
    expect(transcript).not_to_contain_text("Plan C.")


@requirement("P.replay")
def test_a_replay_shows_both_answers_side_by_side(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    model.on("Name a colour", text("Blue."), text("Red."))
    run = client.say(client.open_lane("Colours"), "Name a colour")
    client.ended(run)
    page = signed_in(f"/runs/{run}")
    page.get_by_role("textbox", name="Model").fill("another-model")
    page.get_by_role("button", name="Replay").click()
    answers = page.get_by_role("group", name="Answers")
    expect(answers.get_by_role("article", name="Then")).to_contain_text("Blue.")
    expect(answers.get_by_role("article", name="Now")).to_contain_text("Red.")
    expect(answers.get_by_role("article", name="Now")).to_contain_text("another-model")


@requirement("P.replay.rights")
def test_a_member_replays_a_run_that_they_may_read_whole(
    new_page: OpenPage, client: Client, model: ScriptedModel
) -> None:
    _, secret = invite(client, "Ann")
    model.on("Name a tree", text("Oak."), text("Elm."))
    run = client.post("/api/runs", {"agentId": "main", "message": "Name a tree"})["runId"]
    client.ended(run)
    page = new_page()
    page.goto(f"/runs/{run}#token={secret}")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("article", name="Now")).to_contain_text("Elm.")


@requirement("P.budget.why")
def test_a_budget_is_set_holds_work_and_is_allowed_once_more_in_a_narrow_window(
    signed_in: OpenPage, client: Client
) -> None:
    client.post("/api/agents", {"id": "clerk", "name": "Clerk"})
    page = signed_in("/usage", viewport=NARROW)
    page.get_by_role("button", name="Set a budget").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Name").fill("clerk-runs-of-a-day")
    form.get_by_label("Of").select_option("agent:clerk")
    form.get_by_label("Runs").fill("1")
    form.get_by_role("button", name="Set").click()
    row = page.get_by_role("table", name="Budgets").get_by_role("row").filter(has_text="clerk-runs-of-a-day")
    expect(row).to_contain_text("0 of 1 run")
    name = row.get_by_text("Agent Clerk, a day")
    assert name.evaluate("(shown) => shown.scrollWidth <= shown.clientWidth"), "all of the name is shown"
    client.ended(client.post("/api/runs", {"agentId": "clerk", "message": "Count the chairs"})["runId"])
    held = client.post("/api/runs", {"agentId": "clerk", "message": "Count the tables"})["runId"]
    expect(row).to_contain_text("1 session waiting")
    page.goto(f"/runs/{held}")
    expect(page.get_by_role("main")).to_contain_text("clerk-runs-of-a-day")
    page.goto("/usage")
    row.get_by_role("button", name="Allow once more").click()
    client.ended(held)
    expect(row).to_contain_text("2 of 2 runs")
    client.http.delete("/api/budgets", params={"name": "clerk-runs-of-a-day"}).raise_for_status()
