"""Sessions: the table, one session with its transcript, queue and sub-agents, and its walls."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.scripted_gateway import calls, text

HOSTILE = "<script>alert(1)</script> & <b>bold</b>"


def path_of(key: str, page: str = "sessions") -> str:
    return f"/{page}/{quote(key, safe='')}"


def test_the_table_hides_what_programs_made_and_renames_and_archives_with_a_way_back(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    model.on("Delegate it", calls(("sessions_spawn", {"task": "look it up", "label": "The helper"})), text("Sent."))
    client.ended(client.say(client.open_lane("Delegation"), "Delegate it"))
    client.ended(client.say(client.open_lane(HOSTILE), "Hello"))
    page = signed_in("/sessions")
    table = page.get_by_role("table", name="Sessions")
    expect(table.get_by_role("link", name=HOSTILE)).to_be_visible()
    expect(table.get_by_role("link", name="The helper")).to_have_count(0)
    page.get_by_role("checkbox", name=re.compile("Show machine-made")).check()
    expect(table.get_by_role("link", name="The helper")).to_be_visible()

    page.get_by_role("searchbox", name="Find a session").fill("Delegation")
    expect(table.get_by_role("row")).to_have_count(2)
    page.keyboard.press("Escape")
    table.get_by_role("row").nth(1).focus()
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Name").fill("Handed on")
    page.keyboard.press("Enter")
    expect(table.get_by_role("link", name="Handed on").or_(page.get_by_text("No session matches"))).to_be_visible()
    page.goto("/sessions?q=handed")
    page.get_by_role("checkbox", name="Choose Handed on").check()
    page.get_by_role("button", name="Archive 1").click()
    expect(table.get_by_role("link", name="Handed on")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(table.get_by_role("link", name="Handed on")).to_be_visible()


def test_a_session_shows_what_is_said_and_what_waits_as_it_happens(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Live")
    client.ended(client.say(key, "First words"))
    page = signed_in(path_of(key))
    log = page.get_by_role("log", name="Transcript")
    expect(log).to_contain_text("First words")
    gate = model.hold("Take your time")
    client.say(key, "Take your time")
    gate.wait_reached()
    expect(log).to_contain_text("Take your time")
    client.post("/api/runs", {"sessionKey": key, "message": "Then this"})
    page.get_by_role("link", name="Queue").click()
    queue = page.get_by_role("list", name="Queue")
    expect(queue).to_contain_text("Waits for its turn: “Take your time” is running in this session.")
    client.post("/api/runs", {"sessionKey": key, "message": "First of all"})
    with page.expect_response(re.compile("/advance$")):
        queue.get_by_role("button", name="Move up First of all").click()
    expect(queue.get_by_role("listitem").nth(1)).to_contain_text("First of all")
    waiting = client.http.get(f"/api/sessions/{quote(key, safe='')}/queue").json()["runs"]
    assert [run["message"]["text"] for run in waiting] == ["First of all", "Then this"]
    queue.get_by_role("button", name="Cancel Then this").click()
    expect(queue).not_to_contain_text("Then this")
    queue.get_by_role("button", name="Cancel First of all").click()
    page.reload()
    expect(queue).to_contain_text("Take your time")
    gate.open()
    expect(page.get_by_text("Nothing is running and nothing waits.")).to_be_visible()


def test_spawned_sessions_are_shown_as_a_tree_stopped_and_still_there_when_archived(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    gate = model.hold("count the stars")
    model.on("Spawn one", calls(("sessions_spawn", {"task": "count the stars", "label": "Stars"})), text("Sent."))
    key = client.open_lane("Parent")
    page = signed_in(f"{path_of(key)}?tab=children")
    expect(page.get_by_text("This session has no sub-agents.")).to_be_visible()
    client.ended(client.say(key, "Spawn one"))
    tree = page.get_by_role("list", name="Sub-agents")
    tree.get_by_role("button", name="Stop Stars").click()
    expect(tree.get_by_role("button", name="Stop Stars")).to_have_count(0)
    expect(tree.get_by_role("link", name="Stars")).to_be_visible()
    gate.open()
    child = client.http.get("/api/sessions", params={"spawnedBy": key}).json()["sessions"][0]["key"]
    client.post(f"/api/sessions/{child}/archive", {})
    page.reload()
    expect(tree.get_by_role("link", name="Stars")).to_be_visible()


def test_isolation_shows_the_walls_what_was_refused_and_switches_recall(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    model.on("Try a thing", calls(("no_such_tool", {})), text("It was refused."))
    key = client.open_lane("Walled")
    client.ended(client.say(key, "Try a thing"))
    page = signed_in("/isolation")
    expect(page.get_by_role("heading", level=1, name="Isolation")).to_be_visible()
    page.get_by_role("table", name="Sessions").get_by_role("link", name="Walled").click()
    expect(page.get_by_role("list", name="Does not")).to_contain_text("What is said in other sessions")
    expect(page.get_by_role("table", name="What was refused")).to_contain_text("no_such_tool")
    # Not `check`, which wants it chosen at once: it is when the change is shown.
    page.get_by_role("radio", name="On the board").click()
    expect(page.get_by_role("radio", name="On the board")).to_be_checked()
    expect(page.get_by_role("list", name="Reaches this session")).to_contain_text("sessions on the board")
    expect(page.get_by_text("Chosen for this session")).to_be_visible()
    page.reload()
    expect(page.get_by_role("radio", name="On the board")).to_be_checked()
    page.get_by_role("link", name="What crosses and what does not").click()
    expect(page.get_by_role("region", name="What crosses and what does not")).to_be_focused()


def test_a_session_is_begun_anew_and_deleted_after_a_question(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Short lived")
    client.ended(client.say(key, "Hello"))
    page = signed_in(path_of(key))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Begin anew").click()
    page.get_by_role("button", name="Begin anew").click()
    expect(page.get_by_role("status").filter(has_text="Begun anew: Short lived")).to_be_visible()
    assert client.http.get(f"/api/sessions/{quote(key, safe='')}").json()["session"]["closedReason"] == "reset"
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/sessions$"))
    expect(page.get_by_role("status").filter(has_text="Deleted: Short lived")).to_be_visible()
    assert client.http.get(f"/api/sessions/{quote(key, safe='')}").status_code == 404
