"""Goals and plans: the tasks of a plan as a graph, live, and the decision about it."""

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage

STEPS: list[dict[str, Any]] = [
    {"title": "Sketch"},
    {"title": "Build", "dependencies": ["task-0"]},
    {"title": "Launch", "dependencies": ["task-1"]},
]


def planned(client: Client, key: str) -> dict[str, Any]:
    """Write a plan of three steps in a session; it is ready to be decided about."""
    plan = client.post("/api/plans/enable", {"sessionId": key})["activePlanId"]
    body = {"sessionId": key, "title": "Three steps", "markdown": "One **after** the other.", "tasks": STEPS}
    answer = client.http.put(f"/api/plans/{plan}", json=body)
    answer.raise_for_status()
    written: dict[str, Any] = answer.json()["plan"]
    return written


def test_a_plan_is_a_graph_that_follows_its_tasks_and_is_refused_here(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Relaunch")
    client.post("/api/goals", {"sessionId": key, "name": "Relaunch the <i>website</i>"})
    plan = planned(client, key)
    page = signed_in("/goals")
    page.get_by_role("navigation", name="Sessions").get_by_role("link", name="Relaunch").click()
    expect(page.get_by_role("heading", level=2, name="Relaunch the <i>website</i>")).to_be_visible()
    shown = page.get_by_role("region", name="Three steps")
    expect(shown).to_contain_text("0 of 3 done")
    graph = shown.get_by_role("group", name="Tasks of Three steps")
    boxes = [graph.get_by_role("button").filter(has_text=re.compile(f"^{step['title']}")) for step in STEPS]
    places = [box.bounding_box() for box in boxes]
    assert [place is not None for place in places] == [True, True, True]
    assert places[0]["x"] < places[1]["x"] < places[2]["x"]  # type: ignore[index]
    first = plan["tasks"][0]["id"]
    client.http.patch(f"/api/tasks/{first}", json={"assignedAgentIds": ["main"], "status": "done"}).raise_for_status()
    expect(boxes[0]).to_contain_text("Done")
    expect(shown).to_contain_text("1 of 3 done")
    boxes[1].click()
    expect(page.get_by_role("complementary", name="Build")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Close panel").click()
    shown.get_by_role("button", name="Refuse").click()
    expect(shown).to_contain_text("Cancelled")
    expect(shown.get_by_role("button", name="Approve")).to_have_count(0)


def test_sessions_without_goals_are_listed_on_demand(signed_in: OpenPage, client: Client) -> None:
    client.post("/api/goals", {"sessionId": client.open_lane("With a goal"), "name": "Get there"})
    client.open_lane("Without any")
    page = signed_in("/goals")
    listed = page.get_by_role("navigation", name="Sessions")
    expect(listed.get_by_role("link", name="With a goal")).to_be_visible()
    expect(listed.get_by_role("link", name="Without any")).to_have_count(0)
    listed.get_by_role("link", name=re.compile("sessions? without goals")).click()
    expect(listed.get_by_role("link", name="Without any")).to_be_visible()
    page.reload()
    expect(listed.get_by_role("link", name="Without any")).to_be_visible()


def test_an_approved_plan_begins(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Beginning")
    planned(client, key)
    page = signed_in(f"/goals?session={key}")
    # The page shows a change before the server has made it.
    with page.expect_response(lambda answer: answer.request.method not in ("GET", "HEAD")):
        page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    state = client.http.get("/api/plans", params={"sessionId": key}).json()
    assert [plan["status"] for plan in state["plans"]] != ["ready"]
