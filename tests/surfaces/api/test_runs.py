"""Runs over the API: start, list, wait, answer, cancel, retry, and their receipts."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from carrel.kernel.settings import SessionsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, run_of, send_and_wait, session_of, settled, start
from tests.surfaces.responses.client import respond


@requirement("S0.session.create", "S0.route.task", "S0.route.base")
async def test_a_run_tells_everything_about_itself(client: httpx.AsyncClient) -> None:
    accepted = await start(client, "hello", taskId="task_1", timeoutSeconds=90)
    assert accepted == {
        "runId": accepted["runId"],
        "status": "accepted",
        "sessionKey": "agent:main:task:task_1",
    }
    run = await settled(client, accepted["runId"])
    told = {
        "id": accepted["runId"],
        "agentId": "main",
        "sessionKey": "agent:main:task:task_1",
        "generation": 1,
        "deliverySessionKey": "agent:main:task:task_1:v1",
        "state": "completed",
        "waitingFor": None,
        "reason": None,
        "note": None,
        "joinedMessageIds": [],
        "reply": "echo: hello",
        "error": None,
        "taskId": "task_1",
        "goalId": None,
        "planId": None,
        "autoRunId": None,
        "runKind": None,
        "parentRunId": None,
        "childSessionKey": None,
        "label": None,
        "attempt": 1,
        "attemptsMax": 5,
        "nextAttemptAt": None,
        "queuePosition": None,
        "timeoutSeconds": 90,
        "toolsCalled": [],
        "usage": {"inputTokens": 3, "cachedTokens": 0, "outputTokens": 2, "totalTokens": 5, "costUsd": None},
        "announce": {"state": "none", "attempts": 0},
        "context": run["context"] | {"injected": False, "layers": [], "degraded": None},
        "attributes": {
            "AUTO_RUN_KIND": None,
            "AUTO_RUN_ID": None,
            "AUTO_GOAL_ID": None,
            "AUTO_TASK_ID": None,
            "SESSION_IDENTITY_CHANNEL": "task",
            "SESSION_IDENTITY_CONVERSATION": "task_1",
        },
    }
    assert told.items() <= run.items()
    assert run["sessionId"].startswith("ses_")
    assert run["message"] == {"id": run["message"]["id"], "text": "hello", "attachments": []}
    assert run["createdAt"] <= run["startedAt"] <= run["endedAt"]
    assert run["deliveryInstructionProfileVersion"]
    assert len(run["instructionsSha256"]) == 64
    base = await send_and_wait(client, "no task")
    assert base["sessionKey"] == "agent:main:main"


@requirement("S0.session.reuse", "S0.session.pair.agents", "S0.session.pair.tasks", "S0.session.unique")
async def test_every_pair_of_task_and_agent_has_one_session(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        await client.post("/api/agents", json={"id": "writer"})
        started = await asyncio.gather(*(start(client, f"line {n}", taskId="task_1") for n in range(20)))
        runs = [await settled(client, run["runId"]) for run in started]
        assert len({run["sessionId"] for run in runs}) == 1
        assert {run["generation"] for run in runs} == {1}
        others = [
            await send_and_wait(client, "x", taskId="task_1", agentId="writer"),
            await send_and_wait(client, "x", taskId="task_2"),
        ]
        assert {run["sessionKey"] for run in (runs[0], *others)} == {
            "agent:main:task:task_1",
            "agent:writer:task:task_1",
            "agent:main:task:task_2",
        }
        generations = (await client.get("/api/sessions/agent:main:task:task_1/generations")).json()["sessions"]
        assert len(generations) == 1
        # What was sent for the second Task holds nothing of the first one's twenty lines.
        assert "line" not in str(either_server.agent.bodies[-1]["input"])


@requirement("S0.route.flag.sessions")
async def test_without_task_scoped_sessions_a_task_is_heard_in_the_main_lane(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, server.client() as client:
        scoped = await send_and_wait(client, "scoped", taskId="task_1")
        owner = server.owner
    settings = Settings(sessions=SessionsSettings(task_scoped=False))
    async with open_http_server(surface_url, settings=settings) as server, server.client(owner) as client:
        based = await send_and_wait(client, "based", taskId="task_1")
        assert (based["sessionKey"], based["taskId"]) == ("agent:main:main", "task_1")
        assert (await session_of(client, scoped["sessionKey"]))["closedAt"] is None
    async with open_http_server(surface_url) as server, server.client(owner) as client:
        again = await send_and_wait(client, "scoped again", taskId="task_1")
        assert (again["sessionId"], again["generation"]) == (scoped["sessionId"], 1)


@requirement("S0.session.rename")
async def test_renaming_an_agent_moves_no_session(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    before = await send_and_wait(client, "one", agentId="writer")
    assert (await client.patch("/api/agents/writer", json={"slug": "author"})).status_code == 200
    after = await send_and_wait(client, "two", agentId="author")
    old = await send_and_wait(client, "three", sessionKey="agent:writer:main")
    new = await send_and_wait(client, "four", sessionKey="agent:author:main")
    assert {run["sessionId"] for run in (before, after, old, new)} == {before["sessionId"]}
    assert {run["sessionKey"] for run in (before, after, old, new)} == {"agent:writer:main"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (400, "invalid_params", "message")),
        ({"message": ""}, (400, "invalid_params", "message")),
        ({"message": 7}, (400, "invalid_params", "message")),
        ({"message": "x" * 100_001}, (422, "too_long", "message")),
        ({"message": "x", "agentId": "nobody"}, (404, "not_found", None)),
        ({"message": "x", "agentId": "main", "sessionKey": "main"}, (400, "invalid_params", "agentId")),
        ({"message": "x", "sessionKey": "no such session"}, (400, "invalid_params", "sessionKey")),
        ({"message": "x", "sessionKey": "agent:nobody:main"}, (404, "not_found", None)),
        ({"message": "x", "taskId": "no task id"}, (400, "invalid_params", "taskId")),
        (
            {"message": "x", "sessionKey": "agent:main:task:a", "taskId": "b"},
            (400, "invalid_params", "taskId"),
        ),
        ({"message": "x", "timeoutSeconds": -1}, (400, "invalid_params", "timeoutSeconds")),
        ({"message": "x", "colour": "red"}, (400, "invalid_params", "colour")),
    ],
)
async def test_a_run_that_cannot_be_started_is_refused(
    client: httpx.AsyncClient, body: dict[str, object], expected: tuple[int, str, str | None]
) -> None:
    assert refused(await client.post("/api/runs", json=body)) == expected
    assert (await client.get("/api/runs")).json()["runs"] == []


async def test_a_disabled_agent_hears_nothing(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    await client.delete("/api/agents/writer")
    answer = await client.post("/api/runs", json={"message": "x", "agentId": "writer"})
    assert refused(answer)[:2] == (403, "forbidden")


async def test_the_same_idempotency_key_is_the_same_run(client: httpx.AsyncClient) -> None:
    headers = {"X-Idempotency-Key": "k-1"}
    first = await client.post("/api/runs", json={"message": "once"}, headers=headers)
    second = await client.post("/api/runs", json={"message": "once"}, headers=headers)
    assert first.json() == second.json()
    assert second.headers["idempotent-replay"] == "true"
    other = await client.post("/api/runs", json={"message": "twice"}, headers=headers)
    assert refused(other)[:2] == (409, "idempotency_mismatch")


async def test_a_stopping_server_accepts_no_message(server: HttpServer, client: httpx.AsyncClient) -> None:
    failed = await send_and_wait(client, "fail")
    server.drain.set()
    for path, body in (
        ("/api/runs", {"message": "x"}),
        ("/api/chat", {"text": "x", "clientInstanceId": "tab"}),
        ("/api/sessions/main/send", {"message": "x"}),
        (f"/api/runs/{failed['id']}/retry", None),
    ):
        answer = await client.post(path, json=body)
        assert refused(answer) == (503, "draining", None)
        assert answer.headers["retry-after"]
    assert (await run_of(client, failed["id"]))["state"] == "failed"


async def test_runs_are_listed_newest_first_by_every_word_of_the_query(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    done = await send_and_wait(client, "done", taskId="task_1")
    failed = await send_and_wait(client, "fail")
    asking = await send_and_wait(client, "ask What?", agentId="writer")

    async def listed(**query: str | int) -> list[str]:
        return [run["id"] for run in (await client.get("/api/runs", params=query)).json()["runs"]]

    assert await listed() == [asking["id"], failed["id"], done["id"]]
    assert await listed(state="failed") == [failed["id"]]
    assert await listed(state="waiting") == [asking["id"]]
    assert await listed(agentId="writer") == [asking["id"]]
    assert await listed(taskId="task_1") == [done["id"]]
    assert await listed(sessionKey="main") == [failed["id"]]
    assert await listed(sessionKey="agent:main:task:none") == []
    assert await listed(provenance="external_user") == [asking["id"], failed["id"], done["id"]]
    assert await listed(provenance="a2a") == []
    assert await listed(goalId="goal_1") == []
    assert await listed(autoRunId="auto_1") == []
    first = (await client.get("/api/runs", params={"limit": 2})).json()
    rest = (await client.get("/api/runs", params={"limit": 2, "cursor": first["nextCursor"]})).json()
    assert [run["id"] for run in first["runs"] + rest["runs"]] == await listed()
    assert rest["nextCursor"] is None
    assert refused(await client.get("/api/runs", params={"cursor": "WzFd"})) == (400, "invalid_params", "cursor")
    assert refused(await client.get("/api/runs", params={"state": "odd"})) == (400, "invalid_params", "state")


async def test_waiting_tells_how_a_run_stands(server: HttpServer, client: httpx.AsyncClient) -> None:
    held = (await start(client, "hold gate"))["runId"]
    await server.agent.reached("gate")
    path = f"/api/runs/{held}/wait"
    assert (await client.get(path, params={"timeoutSeconds": 0})).json() == {"runId": held, "status": "timeout"}
    assert (await client.get(path, params={"timeoutSeconds": -5})).json()["status"] == "timeout"
    waiting = asyncio.gather(*(client.get(path, params={"timeoutSeconds": 600}) for _ in range(3)))
    server.agent.release("gate")
    async with asyncio.timeout(15):
        answers = [answer.json() for answer in await waiting]
    assert answers == [{"runId": held, "status": "ok", "reply": "echo: hold gate"}] * 3
    failed = await send_and_wait(client, "fail")
    told = (await client.get(f"/api/runs/{failed['id']}/wait")).json()
    assert told["status"] == "error"
    assert "Told to fail" in told["error"]


@requirement("S1.dispatch.visible", "S1.dispatch.next", "S2.x.lane.recovers")
async def test_cancelling_frees_the_lane_for_what_is_behind(server: HttpServer, client: httpx.AsyncClient) -> None:
    held = (await start(client, "hold gate"))["runId"]
    await server.agent.reached("gate")
    queued = (await start(client, "never heard"))["runId"]
    behind = (await start(client, "heard"))["runId"]
    cancelled = (await client.post(f"/api/runs/{queued}/cancel")).json()["run"]
    assert (cancelled["state"], cancelled["reason"], cancelled["startedAt"]) == ("cancelled", "user_cancelled", None)
    assert (await run_of(client, behind))["queuePosition"] == 1
    stopped = (await client.post(f"/api/runs/{held}/cancel")).json()["run"]
    assert (stopped["state"], stopped["reason"], stopped["reply"]) == ("cancelled", "user_cancelled", None)
    assert (await settled(client, behind))["reply"] == "echo: heard"
    for run_id in (queued, held, behind):
        assert refused(await client.post(f"/api/runs/{run_id}/cancel"))[:2] == (409, "already_ended")
    assert refused(await client.post("/api/runs/run_none/cancel"))[:2] == (404, "not_found")
    assert (await session_of(client, "main"))["queuedRuns"] == 0


@requirement("P.waiting", "S1.dispatch.waiting")
async def test_a_waiting_run_frees_its_lane_and_goes_on_when_answered(client: httpx.AsyncClient) -> None:
    asking = await send_and_wait(client, "ask Which colour?")
    assert (asking["state"], asking["waitingFor"], asking["note"]) == ("waiting", "input", "Which colour?")
    assert asking["toolsCalled"] == ["request_input"]
    assert [run["id"] for run in (await client.get("/api/runs", params={"state": "waiting"})).json()["runs"]] == [
        asking["id"]
    ]
    assert (await send_and_wait(client, "meanwhile"))["state"] == "completed"
    path = f"/api/runs/{asking['id']}/answer"
    assert refused(await client.post(path, json={"text": " "})) == (400, "invalid_params", "text")
    assert refused(await client.post(path, json={"approve": True})) == (400, "invalid_params", "approve")
    answer = await client.post(path, json={"text": "Blue."})
    assert answer.status_code == 202
    assert answer.json()["run"]["id"] == asking["id"]
    done = await settled(client, asking["id"])
    assert (done["state"], done["reply"], done["waitingFor"]) == ("completed", "echo: Blue.", None)
    assert refused(await client.post(path, json={"text": "Red."}))[:2] == (409, "conflict")


@requirement("P.waiting")
async def test_a_waiting_run_can_be_cancelled(client: httpx.AsyncClient) -> None:
    asking = await send_and_wait(client, "ask What?")
    cancelled = (await client.post(f"/api/runs/{asking['id']}/cancel")).json()["run"]
    assert (cancelled["state"], cancelled["waitingFor"]) == ("cancelled", None)
    answer = await client.post(f"/api/runs/{asking['id']}/answer", json={"text": "x"})
    assert refused(answer)[:2] == (409, "conflict")


async def test_why_says_in_a_sentence_what_a_run_waits_for(server: HttpServer, client: httpx.AsyncClient) -> None:
    async def codes(run_id: str) -> tuple[bool, list[str]]:
        why = await why_of(client, run_id)
        return why["moving"], [reason["code"] for reason in why["reasons"]]

    asking = await send_and_wait(client, "ask What?")
    assert await codes(asking["id"]) == (False, ["waiting_input"])
    held = (await start(client, "hold gate"))["runId"]
    await server.agent.reached("gate")
    behind = (await start(client, "behind"))["runId"]
    assert await codes(held) == (True, [])
    assert await codes(behind) == (False, ["lane_busy"])
    assert (await why_of(client, behind))["reasons"][0]["runId"] == held
    server.agent.release("gate")
    await settled(client, behind)
    assert await codes(behind) == (False, ["done"])


async def why_of(client: httpx.AsyncClient, run_id: str) -> Any:
    return (await client.get(f"/api/runs/{run_id}/why")).json()


async def test_why_names_the_run_before_it_that_waits_for_its_next_attempt(client: httpx.AsyncClient) -> None:
    flaky = (await start(client, "flaky"))["runId"]
    async with asyncio.timeout(15):
        while (await run_of(client, flaky))["nextAttemptAt"] is None:
            await client.get(f"/api/runs/{flaky}/wait", params={"timeoutSeconds": 0})
    behind = (await start(client, "behind"))["runId"]
    (reason,) = (await why_of(client, behind))["reasons"]
    assert (reason["code"], reason["runId"]) == ("lane_busy", flaky)
    assert f"run {flaky} is waiting for its next attempt" in reason["text"]


@pytest.mark.parametrize(
    ("said", "text", "actions"),
    [
        ("fail", "The run failed: Told to fail.", ["retry"]),
        ("hello", "The run completed.", []),
        ("silence", "The run completed without a reply.", []),
        (
            'do [["decline", {"reason": "Not my job"}]]',
            "The agent declined: Not my job.",
            ["write the message differently", "retry"],
        ),
    ],
)
async def test_why_of_an_ended_run_says_how_it_ended_and_what_to_do(
    client: httpx.AsyncClient, said: str, text: str, actions: list[str]
) -> None:
    run = await send_and_wait(client, said)
    (reason,) = (await why_of(client, run["id"]))["reasons"]
    assert (reason["code"], reason["text"], reason["actions"]) == ("done", text, actions)


async def test_why_of_a_cancelled_run_says_who_cancelled_it(client: httpx.AsyncClient) -> None:
    asking = await send_and_wait(client, "ask What?")
    await client.post(f"/api/runs/{asking['id']}/cancel")
    (reason,) = (await why_of(client, asking["id"]))["reasons"]
    assert reason["text"] == "The run was cancelled: a user cancelled it."
    assert reason["actions"] == ["send the message again"]


async def test_only_a_failed_run_is_said_again(client: httpx.AsyncClient) -> None:
    failed = await send_and_wait(client, "fail")
    assert (failed["state"], failed["error"]["code"]) == ("failed", "scripted")
    answer = await client.post(f"/api/runs/{failed['id']}/retry")
    assert answer.status_code == 202
    assert answer.json()["retriedFrom"] == failed["id"]
    again = await settled(client, answer.json()["runId"])
    assert (again["message"]["text"], again["sessionKey"]) == ("fail", failed["sessionKey"])
    done = await send_and_wait(client, "fine")
    assert refused(await client.post(f"/api/runs/{done['id']}/retry"))[:2] == (409, "conflict")


async def test_a_run_that_is_tried_again_says_when(client: httpx.AsyncClient) -> None:
    flaky = (await start(client, "flaky"))["runId"]
    async with asyncio.timeout(15):
        while (run := await run_of(client, flaky))["nextAttemptAt"] is None:
            await client.get(f"/api/runs/{flaky}/wait", params={"timeoutSeconds": 0})
    assert (run["state"], run["error"]["code"], run["queuePosition"]) == ("queued", "scripted", 1)
    fault = run["lastFault"]
    assert (fault["attempt"], fault["code"], fault["nextAttemptAt"]) == (1, "scripted", run["nextAttemptAt"])
    assert run["createdAt"] <= fault["at"] < fault["nextAttemptAt"]
    why = (await client.get(f"/api/runs/{flaky}/why")).json()
    (reason,) = why["reasons"]
    assert reason["code"] == "waiting_retry"
    assert re.fullmatch(rf"Attempt 1 of 5 failed: {re.escape(fault['message'])} Next try in \d+ s\.", reason["text"])
    assert (await client.post(f"/api/runs/{flaky}/cancel")).json()["run"]["state"] == "cancelled"


async def test_a_receipt_shows_what_the_agent_saw(server: HttpServer, client: httpx.AsyncClient) -> None:
    one = await send_and_wait(client, "hello", taskId="task_1")
    other = await send_and_wait(client, "goodbye", taskId="task_2")
    receipt = (await client.get(f"/api/runs/{one['id']}/receipt")).json()
    assert (receipt["runId"], receipt["deliverySessionKey"]) == (one["id"], one["deliverySessionKey"])
    (step,) = receipt["steps"]
    assert step["input"] == server.agent.bodies[0]["input"]
    assert step["instructionsSha256"] == one["instructionsSha256"]
    assert "body" not in step
    whole = (await client.get(f"/api/runs/{one['id']}/receipt", params={"body": 1})).json()
    assert "hello" in whole["steps"][0]["body"]
    compared = await client.get(f"/api/runs/{one['id']}/receipt/compare", params={"with": other["id"]})
    assert compared.status_code == 200
    assert not compared.json()["input"]["same"]
    assert not compared.json()["same"]
    itself = await client.get(f"/api/runs/{one['id']}/receipt/compare", params={"with": one["id"]})
    assert itself.json()["same"]
    path = f"/api/runs/{one['id']}/receipt/compare"
    assert refused(await client.get(path)) == (400, "invalid_params", "with")
    assert refused(await client.get(path, params={"with": "run_none"}))[:2] == (404, "not_found")


@requirement("S1.dispatch.idle", "S1.dispatch.parallel", "S1.dispatch.serial")
async def test_a_busy_lane_delays_no_other(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        held = (await start(client, "hold gate", taskId="task_1"))["runId"]
        await either_server.agent.reached("gate")
        behind = (await start(client, "behind", taskId="task_1"))["runId"]
        assert (await send_and_wait(client, "elsewhere", taskId="task_2"))["state"] == "completed"
        running = (await client.get("/api/runs", params={"state": "running"})).json()["runs"]
        assert [run["id"] for run in running] == [held]
        assert (await run_of(client, behind))["state"] == "queued"
        either_server.agent.release("gate")
        assert (await settled(client, behind))["state"] == "completed"


async def test_receipts_that_share_little_are_not_compared_line_by_line(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    # Every second line is the same, which is where a comparison has the most to do.
    told = ["\n".join(f"{word}{at}\n{at}" for at in range(5_000)) for word in "ab"]
    one, other = [(await respond(client, "hello", instructions=text))["metadata"]["runId"] for text in told]
    compared = (await client.get(f"/api/runs/{one}/receipt/compare", params={"with": other})).json()
    too_different = "The two are too different to be compared line by line."
    assert compared["instructions"] == {"same": False, "diff": too_different}
    assert too_different not in compared["input"]["diff"]
