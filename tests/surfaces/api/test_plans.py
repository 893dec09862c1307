"""Plan mode over the API and in chats: state and plans of one session, whoever asks and wherever it is switched."""

from functools import partial
from typing import Any

import httpx
import pytest

from carrel.access import mint_run_token
from carrel.goals import find_plan
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait, session_of, settled, start
from tests.surfaces.mcp.client import ask, result_of

WEB = "agent:main:web:conversation1"
OTHER = "agent:main:web:conversation2"
TASKS = [{"title": "Dig"}, {"title": "Plant", "dependencies": ["task-0"]}]
STATE = {"sessionId", "sessionIdentity", "sessionKey", "sessionActive", "enabled", "activePlanId", "updatedAt", "plans"}


async def state_of(client: httpx.AsyncClient, session: str = WEB) -> Json:
    """Return the plan mode of a session."""
    answer = await client.get("/api/plans", params={"sessionId": session})
    assert answer.status_code == 200, answer.text
    state: Json = answer.json()
    return state


async def switch(client: httpx.AsyncClient, how: str, session: str = WEB) -> Json:
    """Switch plan mode and return the state."""
    answer = await client.post(f"/api/plans/{how}", json={"sessionId": session})
    assert answer.status_code == 200, answer.text
    state: Json = answer.json()
    return state


async def written(client: httpx.AsyncClient, session: str = WEB, **content: Any) -> Json:
    """Switch plan mode on, write the plan and return it."""
    plan_id = (await switch(client, "enable", session))["activePlanId"]
    body = {"sessionId": session, "markdown": "# A garden", "tasks": TASKS} | content
    answer = await client.put(f"/api/plans/{plan_id}", json=body)
    assert answer.status_code == 200, answer.text
    plan: Json = answer.json()["plan"]
    return plan


async def said(client: httpx.AsyncClient, text: str, instance: str = "tab", channel: str = "web") -> str:
    """Send a command through the pointer of a browser or terminal, and return the reply."""
    answer = await client.post("/api/chat", json={"text": text, "channelType": channel, "clientInstanceId": instance})
    assert answer.status_code == 200, answer.text
    assert "runId" not in answer.json()
    return str(answer.json()["reply"])


@requirement("S3.plan.api.get", "S3.plan.api.enable", "S3.plan.api.disable", "S3.plan.scope")
async def test_plan_mode_is_shown_switched_on_and_off_and_may_be_repeated(on_either: httpx.AsyncClient) -> None:
    client = on_either
    await send_and_wait(client, "hello", sessionKey=WEB)
    before = await state_of(client, "conversation1")
    assert set(before) == STATE
    assert (before["sessionId"], before["sessionKey"]) == ("conversation1", WEB)
    assert before["sessionIdentity"] == {"channelType": "web", "conversationKey": "conversation1"}
    assert (before["enabled"], before["activePlanId"], before["updatedAt"], before["plans"]) == (False, None, None, [])
    on = await switch(client, "enable", "web:conversation1")
    assert on["enabled"]
    assert [(plan["id"], plan["status"]) for plan in on["plans"]] == [(on["activePlanId"], "drafting")]
    assert await switch(client, "enable") == on == await state_of(client)
    row = await session_of(client, WEB)
    assert row["planMode"] == {"enabled": True, "activePlanId": on["activePlanId"]}
    off = await switch(client, "disable")
    assert (off["enabled"], off["activePlanId"]) == (False, None)
    assert [plan["status"] for plan in off["plans"]] == ["cancelled"]
    assert await switch(client, "disable") == off


@requirement("S3.plan.api.get")
async def test_a_session_must_be_named_and_must_be_one(client: httpx.AsyncClient) -> None:
    assert refused(await client.get("/api/plans")) == (400, "session_required", "sessionId")
    for how in ("enable", "disable"):
        assert refused(await client.post(f"/api/plans/{how}", json={})) == (400, "session_required", "sessionId")
    assert refused(await client.get("/api/plans", params={"sessionId": "nowhere1"}))[:2] == (404, "not_found")
    for channel in ("web", "cli"):
        await send_and_wait(client, "hello", sessionKey=f"agent:main:{channel}:conversation1")
    for how in ("enable", "disable"):
        both = await client.post(f"/api/plans/{how}", json={"sessionId": "conversation1"})
        assert refused(both)[:2] == (409, "ambiguous_session")


@requirement("S3.plan.isolated", "S3.inv.1", "S3.plan.finalize")
async def test_a_plan_is_reached_from_its_own_session_alone(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    plan = await written(client)
    for who in (client, other_client):
        await switch(who, "enable", OTHER)
    await switch(other_client, "enable", WEB)
    before = [await state_of(client, OTHER), await state_of(other_client, WEB), await state_of(other_client, OTHER)]
    for who, session in ((client, OTHER), (other_client, WEB), (other_client, OTHER)):
        path = f"/api/plans/{plan['id']}"
        answers = [await who.get(path, params={"sessionId": session})]
        answers.append(await who.put(path, json={"sessionId": session, "markdown": "mine"}))
        answers += [await who.post(f"{path}/{how}", json={"sessionId": session}) for how in ("approve", "cancel")]
        answers.append(await who.post(f"{path}/resume", json={"sessionId": session}))
        assert [refused(answer)[:2] for answer in answers] == [(404, "not_found")] * 5
    assert (await client.get(f"/api/plans/{plan['id']}", params={"sessionId": WEB})).json()["plan"] == plan
    after = [await state_of(client, OTHER), await state_of(other_client, WEB), await state_of(other_client, OTHER)]
    assert after == before


@requirement("S3.x.plan.steps", "S3.plan.one")
async def test_a_plan_is_written_approved_and_cancelled(server: HttpServer, client: httpx.AsyncClient) -> None:
    empty = await written(client, tasks=[])
    path = f"/api/plans/{empty['id']}"
    assert refused(await client.post(f"{path}/approve", json={"sessionId": WEB}))[:2] == (422, "illegal_transition")
    # The agent holds the first task until it is let go.
    plan = await written(client, title="The garden", tasks=[{"title": "Dig\nhold dig"}, TASKS[1]])
    assert (plan["id"], plan["status"], plan["title"]) == (empty["id"], "ready", "The garden")
    dig, plant = plan["tasks"]
    assert plant["dependencies"] == [dig["id"]]
    approved = (await client.post(f"{path}/approve", json={"sessionId": WEB})).json()["plan"]
    assert approved["status"] == "working"
    state = await state_of(client)
    assert (state["enabled"], state["activePlanId"]) == (False, plan["id"])
    (run,) = (await client.get("/api/runs", params={"taskId": dig["id"]})).json()["runs"]
    await server.agent.reached("dig")
    late = await client.put(path, json={"sessionId": WEB, "markdown": "late"})
    assert refused(late)[:2] == (422, "illegal_transition")
    cancelled = (await client.post(f"{path}/cancel", json={"sessionId": WEB})).json()["plan"]
    assert cancelled["status"] == "cancelled"
    assert (await state_of(client))["activePlanId"] is None
    assert (await settled(client, run["id"]))["state"] == "cancelled"
    assert refused(await client.post(f"{path}/resume", json={"sessionId": WEB}))[:2] == (422, "illegal_transition")


async def test_a_plan_is_not_ready_by_its_title_alone(client: httpx.AsyncClient) -> None:
    plan_id = (await switch(client, "enable"))["activePlanId"]
    for content in ({}, {"title": "The garden"}):
        answer = await client.put(f"/api/plans/{plan_id}", json={"sessionId": WEB, **content})
        assert (answer.status_code, answer.json()["plan"]["status"]) == (200, "drafting")
    assert (await state_of(client))["plans"][0]["title"] == "The garden"


@requirement("S3.x.plan.steps")
async def test_a_plan_that_has_failed_in_part_is_resumed(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as client:
        plan = await written(client, tasks=[{"title": "Dig"}, {"title": "Plant\nfail"}])
        path, access = f"/api/plans/{plan['id']}", await server.access_of()

        async def until(status: str) -> None:
            await server.until(lambda tx: find_plan(tx, access, plan["id"]).status == status)

        (await client.post(f"{path}/approve", json={"sessionId": WEB})).raise_for_status()
        await until("failed")
        row = await client.patch(f"/api/tasks/{plan['tasks'][1]['id']}", json={"title": "Plant"})
        assert row.status_code == 200, row.text
        resumed = (await client.post(f"{path}/resume", json={"sessionId": WEB})).json()["plan"]
        assert resumed["status"] == "working"
        begun = await client.get("/api/runs", params={"taskId": plan["tasks"][1]["id"]})
        assert len(begun.json()["runs"]) == 2
        assert refused(await client.post(f"{path}/approve", json={"sessionId": WEB}))[0] == 422


@requirement("S3.plan.cmd.on", "S3.plan.cmd.status", "S3.id.resolve.first")
@pytest.mark.parametrize("channel", ["web", "cli"])
async def test_the_command_acts_on_the_active_session_alone(client: httpx.AsyncClient, channel: str) -> None:
    keys = [f"agent:main:{channel}:conversation{number}" for number in (1, 2)]
    for key in keys:
        here = {"text": "hello", "sessionKey": key, "channelType": channel, "clientInstanceId": "tab"}
        await settled(client, (await client.post("/api/chat", json=here)).json()["runId"])
    one, two = keys
    assert await said(client, "/plan", channel=channel) == "Plan mode: off"
    assert (await said(client, "/plan on", channel=channel)).startswith("Plan mode: on\nPlan: plan_")
    assert [(await state_of(client, key))["enabled"] for key in keys] == [False, True]
    assert (await state_of(client, two))["sessionActive"]
    assert not (await state_of(client, one))["sessionActive"]
    await said(client, f"/switch {one}", channel=channel)
    for asked in ("/plan status", "/status"):
        assert "Plan mode: off" in await said(client, asked, channel=channel)
    assert await said(client, "/plans", channel=channel) == "This session has no plans."
    await said(client, f"/switch {two}", channel=channel)
    assert "Plan mode: on" in await said(client, "/status", channel=channel)
    assert await said(client, "/plan off", channel=channel) == "Plan mode: off"
    assert "(cancelled)" in await said(client, "/plans", channel=channel)


@requirement("S3.id.firstcommand", "S3.id.resolve.first")
async def test_plan_on_as_the_first_line_creates_and_binds_the_session(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/api/chat", json={"text": "/plan on", "clientInstanceId": "fresh"})).json()
    key = answer["sessionKey"]
    assert (await state_of(client, key))["enabled"]
    assert (await state_of(client, key))["sessionActive"]
    following = (await client.post("/api/chat", json={"text": "hello", "clientInstanceId": "fresh"})).json()
    assert following["sessionKey"] == key


@requirement("S3.plan.cmd.off")
async def test_the_words_of_the_command_plan_approve_and_cancel(client: httpx.AsyncClient) -> None:
    here = {"text": "hello", "sessionKey": WEB, "clientInstanceId": "tab"}
    await settled(client, (await client.post("/api/chat", json=here)).json()["runId"])
    assert "no plan that is ready" in await said(client, "/plan approve")
    assert await said(client, "/plan done") == "Plan mode is off already."
    await said(client, "/PLAN ON")
    assert "Nothing has been planned yet" in await said(client, "/plan done")
    plan = await written(client)
    assert await said(client, "/plan done") == (
        f"Plan mode: off\nPlan: {plan['id']} (ready, 0 of 2 tasks done) A garden"
    )
    assert "no such plan" in await said(client, "/plan approve plan_nowhere")
    assert f"{plan['id']} (working" in await said(client, f"/plan approve {plan['id']}")
    assert "Only a plan that" in await said(client, f"/plan resume {plan['id']}")
    assert f"{plan['id']} (cancelled" in await said(client, "/plan cancel")
    for wrong in ("/plan perhaps", "/plan on now", "/plan approve one two"):
        assert (await said(client, wrong)).startswith("Use /plan on")


@requirement("S3.plan.tools")
async def test_agents_are_held_to_plan_mode_over_http_and_mcp_and_the_api(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"behaviorFlags": {"canCreateTasks": True}})
    runs = [(await start(client, "hold here", sessionKey=key))["runId"] for key in (WEB, OTHER)]
    access = await server.access_of()
    minted = [partial(mint_run_token, access=access, agent_id="main", run_id=run) for run in runs]
    secrets = [await server.db.write(mint) for mint in minted]
    await switch(client, "enable")
    kept = {"content": "The door is green", "type": "fact"}
    async with server.client(secrets[0]) as planning, server.client(secrets[1]) as free:
        for agent, status in ((planning, 403), (free, 200)):
            answer = await agent.post("/agent/memory_add", json=kept)
            assert answer.status_code == status, answer.text
            over_mcp = (await ask(agent, "tools/call", {"name": "memory_add", "arguments": kept})).text
            assert ("plan mode" in over_mcp) == (status == 403)
            made = await agent.post("/api/tasks", json={"title": "Dig"})
            assert made.status_code == (403 if status == 403 else 201), made.text
            listed = {tool["name"] for tool in (await agent.get("/agent")).json()["tools"]}
            over = {tool["name"] for tool in (await result_of(agent, "tools/list"))["tools"]}
            assert ("memory_add" in listed, "memory_add" in over) == (status == 200, status == 200)
            assert ("plan_set_content" in listed, "plan_set_content" in over) == (status == 403, status == 403)
            assert (await agent.get("/api/tasks")).status_code == 200
        wrote = await planning.post("/agent/plan_set_content", json={"markdown": "# A garden", "tasks": TASKS})
        assert (wrote.status_code, wrote.json()["plan"]["status"]) == (200, "ready")
        assert (await free.post("/agent/plan_set_content", json={"markdown": "x"})).status_code == 403
    server.agent.release("here")


async def test_agents_look_at_plan_mode_and_people_switch_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    plan = await written(client, "main")
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        assert (await state_of(agent, "current"))["activePlanId"] == plan["id"]
        for how in ("enable", "disable"):
            assert refused(await agent.post(f"/api/plans/{how}", json={"sessionId": "main"}))[:2] == (403, "forbidden")
        path = f"/api/plans/{plan['id']}"
        assert refused(await agent.post(f"{path}/approve", json={"sessionId": "main"}))[:2] == (403, "forbidden")
        hidden = await agent.get("/api/plans", params={"sessionId": WEB})
        assert refused(hidden)[:2] in ((404, "not_found"), (403, "forbidden"))


@requirement("S3.metric.plan.enabled", "S3.metric.plan.active")
async def test_the_metrics_name_sessions_of_their_own_account_alone(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await switch(client, "enable", "agent:main:web:measured-here")
    await switch(other_client, "enable", "agent:main:web:measured-there")

    async def shown(who: httpx.AsyncClient) -> list[tuple[str, Json, float]]:
        rows = (await who.get("/api/metrics")).json()["metrics"]
        return [(row["name"], row["labels"], row["value"]) for row in rows if row["name"].startswith("plan.mode.")]

    theirs = await shown(other_client)
    labels = {"channel": "web", "session": "measured-there"}
    assert ("plan.mode.enabled.count", labels, 1) in theirs
    assert ("plan.mode.active.sessions", {}, 1) in theirs
    mine = await shown(client)
    assert ("plan.mode.active.sessions", {}, 2) in mine
    assert not [row for row in mine if row[1].get("session") == "measured-there"]
    text = (await client.get("/metrics")).text
    assert "carrel_plan_mode_active_sessions 2" in text
    assert "carrel_plan_mode_enabled_count_total{" in text


async def test_plan_mode_of_a_deleted_session_is_gone(client: httpx.AsyncClient) -> None:
    plan = await written(client)
    await switch(client, "enable", OTHER)
    assert (await client.delete(f"/api/sessions/{WEB}")).status_code == 204
    assert refused(await client.get("/api/plans", params={"sessionId": "conversation1"}))[:2] == (404, "not_found")
    after = await state_of(client)
    assert (after["enabled"], after["activePlanId"], after["plans"]) == (False, None, [])
    gone = await client.get(f"/api/plans/{plan['id']}", params={"sessionId": WEB})
    assert refused(gone)[:2] == (404, "not_found")
    assert (await state_of(client, OTHER))["enabled"]
