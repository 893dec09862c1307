"""Goals over HTTP: create, list, change, complete and delete them, their runs, and their memory."""

from collections.abc import Awaitable
from typing import Any

import httpx

from carrel.goals import PlannedTask, approve_plan, plan_goal_tasks, plans_of_session
from carrel.kernel import SessionKey
from carrel.storage import Tx
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, settled

ALL = "/api/goals"
MAIN = SessionKey.of("main", "main")


async def made(client: httpx.AsyncClient, **wanted: Any) -> Json:
    """A new goal of the main session."""
    answer = await client.post(ALL, json={"name": "Ship it", "sessionId": "main", **wanted})
    assert answer.status_code == 201, answer.text
    goal: Json = answer.json()["goal"]
    return goal


async def code_of(request: Awaitable[httpx.Response]) -> tuple[int, str]:
    """How a request is refused."""
    return refused(await request)[:2]


async def planned(server: HttpServer, goal: Json, *titles: str) -> None:
    """Plan tasks for a goal and approve the plan."""
    access = await server.access_of()

    def work(tx: Tx) -> None:
        plan_goal_tasks(tx, access, goal["id"], tuple(PlannedTask(title=title) for title in titles))
        approve_plan(tx, access, plans_of_session(tx, access, MAIN)[0].id, server.assembly.services.rules)

    await server.db.write(work)


async def test_a_goal_is_created_listed_changed_completed_and_deleted(client: httpx.AsyncClient) -> None:
    goal = await made(client, description="by Friday", metadata={"team": "red"})
    expected = {"sessionId": "main", "name": "Ship it", "status": "submitted", "plans": [], "tasks": []}
    assert expected.items() <= goal.items()
    assert goal["id"].startswith("goal_")
    assert (await made(client, status="planning"))["status"] == "planning"
    page = (await client.get(ALL, params={"sessionId": "main", "limit": 1})).json()
    assert [one["status"] for one in page["goals"]] == ["planning"]
    rest = (await client.get(ALL, params={"sessionId": "main", "cursor": page["nextCursor"]})).json()
    assert [one["id"] for one in rest["goals"]] == [goal["id"]]
    path = f"{ALL}/{goal['id']}"
    changed = (await client.patch(path, json={"name": "Ship all", "sessionId": "agent:main:main"})).json()["goal"]
    assert (changed["name"], changed["description"]) == ("Ship all", "by Friday")
    done = (await client.post(f"{path}/complete")).json()["goal"]
    assert done["status"] == "completed"
    assert (await client.get(path)).json()["goal"] == done
    assert await code_of(client.patch(path, json={"status": "working"})) == (422, "illegal_transition")
    assert (await client.delete(path)).status_code == 204
    assert await code_of(client.get(path)) == (404, "not_found")


async def test_all_goals_that_one_may_see_are_listed_on_request(server: HttpServer, client: httpx.AsyncClient) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]["id"]
    await made(client)
    (await client.post(ALL, json={"name": "Mine", "sessionId": "agent:main:web:owners-chat-1"})).raise_for_status()
    async with server.client(await server.token(client, kind="user", userId=user)) as ada:
        (await ada.post(ALL, json={"name": "Hers", "sessionId": "agent:main:web:adas-chat-1"})).raise_for_status()
        seen = [goal["name"] for goal in (await ada.get(ALL, params={"all": 1})).json()["goals"]]
    everything = [goal["name"] for goal in (await client.get(ALL, params={"all": 1})).json()["goals"]]
    assert everything[:2] == ["Hers", "Mine"]
    assert "Hers" in seen
    assert "Mine" not in seen


async def test_a_session_must_be_named_and_must_be_the_goals_own(client: httpx.AsyncClient) -> None:
    assert await code_of(client.get(ALL)) == (400, "session_required")
    assert await code_of(client.post(ALL, json={"name": "x"})) == (400, "session_required")
    assert await code_of(client.post(ALL, json={"name": " ", "sessionId": "main"})) == (400, "invalid_params")
    goal = await made(client)
    other = (await client.post("/api/sessions", json={"agentId": "main"})).json()["sessionKey"]
    for request in (
        client.get(f"{ALL}/{goal['id']}", params={"sessionId": other}),
        client.patch(f"{ALL}/{goal['id']}", json={"sessionId": other, "name": "mine"}),
        client.delete(f"{ALL}/{goal['id']}", params={"sessionId": other}),
        client.post(f"{ALL}/{goal['id']}/complete", params={"sessionId": other}),
    ):
        assert await code_of(request) == (404, "not_found")


@requirement("S1.opt.run")
async def test_the_runs_of_a_goals_tasks_say_so_and_are_listed_by_it(
    client: httpx.AsyncClient, server: HttpServer
) -> None:
    goal = await made(client)
    await planned(server, goal, "paint", "sell")
    shown = (await client.get(f"{ALL}/{goal['id']}")).json()["goal"]
    (plan,) = shown["plans"]
    runs = (await client.get("/api/runs", params={"goalId": goal["id"]})).json()["runs"]
    assert {(run["goalId"], run["planId"]) for run in runs} == {(goal["id"], plan["id"])}
    assert {run["taskId"] for run in runs} == {task["id"] for task in shown["tasks"]}
    assert (await client.get("/api/runs", params={"goalId": "goal_none"})).json()["runs"] == []
    for run in runs:
        await settled(client, run["id"])


@requirement("S3.scope.chain.goal", "S3.inv.5")
async def test_the_memory_of_a_goal_is_read_in_its_session_only(client: httpx.AsyncClient) -> None:
    goal = await made(client)
    scope = f"goal:main:main:{goal['id']}"
    kept = {"scope": scope, "type": "decision", "content": "Red paint"}
    item = (await client.post("/api/memory", json=kept)).json()["item"]
    assert item["scope"] == scope
    found = (await client.get("/api/memory", params={"sessionId": "main", "goalId": goal["id"]})).json()
    assert (found["chain"], [one["id"] for one in found["items"]]) == (
        [scope, "session:main:main", "global"],
        [item["id"]],
    )
    searched = {"sessionId": "main", "goalId": goal["id"], "q": "paint"}
    assert len((await client.get("/api/memory/search", params=searched)).json()["items"]) == 1
    assert (await client.get("/api/memory", params={"scope": scope})).json()["items"][0]["id"] == item["id"]
    assert (await client.patch(f"/api/memory/{item['id']}", json={"content": "Blue"})).status_code == 200
    other = (await client.post("/api/sessions", json={"agentId": "main"})).json()
    elsewhere = {"sessionId": other["sessionKey"], "goalId": goal["id"]}
    assert await code_of(client.get("/api/memory", params=elsewhere)) == (404, "not_found")
    assert await code_of(client.get("/api/memory", params={"scope": "goal:main:main:goal_none"})) == (404, "not_found")
    forged = {**kept, "scope": f"goal:web:chat-0001:{goal['id']}"}
    assert await code_of(client.post("/api/memory", json=forged)) == (404, "not_found")
    assert (await client.delete(f"{ALL}/{goal['id']}")).status_code == 204
    assert await code_of(client.patch(f"/api/memory/{item['id']}", json={"content": "Green"})) == (404, "not_found")
