"""Changing sessions: send, patch, stop, archive and delete."""

import asyncio

import httpx

from carrel.kernel import SessionKey
from carrel.kernel.settings import RunsSettings, SendMatch, SendPolicySettings, SendRule, SessionsSettings, Settings
from carrel.sessions import NewChild, insert_child
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, run_of, send_and_wait, session_of, settled, start

MAIN = "/api/sessions/agent:main:main"


async def test_sending_without_waiting_is_accepted(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{MAIN}/send", json={"message": "hello"})
    assert answer.status_code == 202
    assert answer.json()["status"] == "accepted"
    run = await settled(client, answer.json()["runId"])
    assert (run["state"], run["reply"], run["provenance"]["kind"]) == ("completed", "echo: hello", "external_user")
    assert run["provenance"]["actor"] == (await client.get("/api/auth/me")).json()["actor"]["id"]


async def test_sending_and_waiting_brings_the_answer_of_that_very_run(client: httpx.AsyncClient) -> None:
    async def send(message: str, seconds: int = 15) -> dict[str, str]:
        answer = await client.post(f"{MAIN}/send", json={"message": message, "timeoutSeconds": seconds})
        assert answer.status_code == 200
        told: dict[str, str] = answer.json()
        assert told.pop("runId").startswith("run_")
        assert told.pop("sessionKey") == "agent:main:main"
        return told

    assert await send("one") == {"status": "ok", "reply": "echo: one"}
    assert await send("two", 9999) == {"status": "ok", "reply": "echo: two"}
    failed = await send("fail")
    assert failed["status"] == "error"
    assert "Told to fail" in failed["error"]
    asked = await send("ask Which one?")
    assert asked["status"] == "error"
    assert "input" in asked["error"]
    assert "Which one?" in asked["error"]


async def test_a_wait_that_is_over_says_timeout_and_the_run_goes_on(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    answer = (await client.post(f"{MAIN}/send", json={"message": "hold gate", "timeoutSeconds": 1})).json()
    assert answer["status"] == "timeout"
    assert "reply" not in answer
    assert (await run_of(client, answer["runId"]))["state"] == "running"
    server.agent.release("gate")
    assert (await settled(client, answer["runId"]))["state"] == "completed"


async def test_what_cannot_be_said_is_refused(client: httpx.AsyncClient) -> None:
    assert refused(await client.post(f"{MAIN}/send", json={"message": "  "})) == (400, "invalid_params", "message")
    assert refused(await client.post(f"{MAIN}/send", json={})) == (400, "invalid_params", "message")
    assert refused(await client.post(f"{MAIN}/send", json={"message": "x" * 100_001})) == (422, "too_long", "message")
    assert refused(await client.post("/api/sessions/agent:none:main/send", json={"message": "x"}))[0] == 404
    assert refused(await client.post("/api/sessions/nosuchsession/send", json={"message": "x"}))[0] == 404
    short = await client.post("/api/sessions/agent:main:web:short/send", json={"message": "x"})
    assert refused(short) == (400, "invalid_conversation_key", "conversationKey")
    assert (await client.get("/api/runs")).json()["runs"] == []


async def test_a_patch_sets_what_it_names_and_null_inherits(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    wanted = {"label": "L", "displayName": "D", "model": "big", "thinkingLevel": "high", "verboseLevel": "on"}
    row = (await client.patch(MAIN, json=wanted)).json()["session"]
    assert wanted.items() <= row.items()
    row = (await client.patch(MAIN, json={"model": None})).json()["session"]
    assert (row["model"], row["label"], row["thinkingLevel"]) == (None, "L", "high")
    assert (await session_of(client, "main"))["displayName"] == "D"
    for body, field in (
        ({"thinkingLevel": "hardest"}, "thinkingLevel"),
        ({"sendPolicy": "maybe"}, "sendPolicy"),
        ({"label": "x" * 513}, "label"),
        ({"state": "idle"}, "state"),
    ):
        assert refused(await client.patch(MAIN, json=body)) == (400, "invalid_params", field)
    assert refused(await client.patch("/api/sessions/agent:main:task:none", json={"label": "x"}))[0] == 404


@requirement("S2.policy.rules", "S2.policy.kind", "S2.policy.enforced")
async def test_rules_refuse_by_channel_and_kind_of_chat(surface_url: str) -> None:
    rules = (
        SendRule(action="deny", match=SendMatch(channel="discord", chat_type="group")),
        SendRule(action="allow", match=SendMatch(channel="discord")),
        SendRule(action="deny", match=SendMatch(key_prefix="cron:")),
        SendRule(action="deny", match=SendMatch(channel="web")),
    )
    settings = Settings(sessions=SessionsSettings(send_policy=SendPolicySettings(rules=rules)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        for reference in ("agent:main:discord:group:1", "agent:main:discord:group:2", "cron:daily"):
            denied = await client.post("/api/runs", json={"message": "x", "sessionKey": reference})
            assert refused(denied) == (403, "send_denied", None)
            assert refused(await client.get(f"/api/sessions/{reference}"))[0] == 404
        denied = await client.post("/api/chat", json={"text": "x", "clientInstanceId": "tab"})
        assert refused(denied) == (403, "send_denied", None)
        for reference in ("agent:main:discord:channel:1", "agent:main:discord:direct:ada", "main"):
            assert (await send_and_wait(client, "x", sessionKey=reference))["state"] == "completed"


@requirement("S2.policy.rules", "S2.policy.override", "S2.policy.patch")
async def test_a_sessions_own_word_beats_the_rules(surface_url: str) -> None:
    settings = Settings(sessions=SessionsSettings(send_policy=SendPolicySettings(default="deny")))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        made = (await client.post("/api/sessions", json={})).json()["sessionKey"]
        assert refused(await client.post("/api/runs", json={"message": "x", "sessionKey": made}))[1] == "send_denied"
        row = (await client.patch(f"/api/sessions/{made}", json={"sendPolicy": "allow"})).json()["session"]
        assert row["sendPolicy"] == "allow"
        assert (await send_and_wait(client, "x", sessionKey=made))["state"] == "completed"
        await client.patch(f"/api/sessions/{made}", json={"sendPolicy": "deny"})
        assert refused(await client.post(f"/api/sessions/{made}/send", json={"message": "x"}))[1] == "send_denied"
        await client.patch(f"/api/sessions/{made}", json={"sendPolicy": None})
        assert refused(await client.post("/api/chat", json={"text": "x", "sessionKey": made}))[1] == "send_denied"


@requirement("S1.queue.limit", "S2.x.queue.nodrop")
async def test_at_the_limit_the_sender_is_told_and_nothing_is_dropped(surface_url: str) -> None:
    settings = Settings(runs=RunsSettings(lane_queue_max=2))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        held = await start(client, "hold gate")
        await server.agent.reached("gate")
        kept = [await start(client, f"line {number}") for number in range(2)]
        full = await client.post("/api/runs", json={"message": "one too many"})
        assert refused(full) == (429, "queue_full", None)
        assert int(full.headers["retry-after"]) > 0
        server.agent.release("gate")
        for run in (held, *kept):
            assert (await settled(client, run["runId"]))["state"] == "completed"
        heard = [run["message"]["text"] for run in (await client.get("/api/runs")).json()["runs"]]
        assert heard == ["line 1", "line 0", "hold gate"]


@requirement("S2.x.stop.cutoff", "S2.x.lane.recovers")
async def test_a_stop_cancels_what_was_said_and_not_what_is_said_after(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    asking = await send_and_wait(client, "ask What?")
    held = await start(client, "hold gate")
    await server.agent.reached("gate")
    queued = await start(client, "queued")
    access = await server.access_of()
    child = SessionKey.parse("agent:main:subagent:0001")
    spawned = NewChild(key=child, spawned_by=SessionKey("main", "main"))
    await server.db.write(lambda tx: insert_child(tx, access, spawned))
    below = await start(client, "hold below", sessionKey=str(child))
    await server.agent.reached("below")
    stopped = (await client.post(f"{MAIN}/stop")).json()["cancelledRuns"]
    assert set(stopped) == {asking["id"], held["runId"], queued["runId"], below["runId"]}
    for run_id in stopped:
        run = await settled(client, run_id)
        assert (run["state"], run["reason"], run["reply"]) == ("cancelled", "stopped", None)
    assert (await session_of(client, "main"))["abortedLastRun"]
    assert (await send_and_wait(client, "after"))["state"] == "completed"
    assert not (await session_of(client, "main"))["abortedLastRun"]
    assert (await client.post(f"{MAIN}/stop")).json() == {"cancelledRuns": []}
    assert refused(await client.post("/api/sessions/agent:main:task:none/stop"))[0] == 404


async def test_an_archived_session_is_out_of_sight_until_it_is_spoken_in(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    row = (await client.post(f"{MAIN}/archive")).json()["session"]
    assert (row["state"], row["closedReason"]) == ("closed", "archived")
    assert row["archivedAt"] is not None
    assert (await client.get("/api/sessions")).json()["count"] == 0
    assert (await client.get("/api/sessions", params={"archived": 1})).json()["count"] == 1
    await client.post(f"{MAIN}/archive")
    assert (await send_and_wait(client, "again"))["generation"] == 2
    assert (await session_of(client, "main"))["archivedAt"] is None


async def test_a_session_that_is_brought_back_tells_whether_its_conversation_goes_on(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    await client.post(f"{MAIN}/archive")
    restored = (await client.post(f"{MAIN}/unarchive")).json()
    assert (restored["reopened"], restored["session"]["archivedAt"], restored["session"]["state"]) == (
        True,
        None,
        "idle",
    )
    assert (await send_and_wait(client, "again"))["generation"] == 1
    again = (await client.post(f"{MAIN}/unarchive")).json()
    assert (again["reopened"], again["session"]["generation"]) == (False, 1)


async def test_deleting_a_session_removes_everything_said_in_it(
    either_server: HttpServer,
) -> None:
    async with either_server.client() as client:
        seq = (await client.get("/api/changes")).json()["seq"]
        asking = await send_and_wait(client, "ask What?")
        held = await start(client, "hold gate")
        await either_server.agent.reached("gate")
        queued = await start(client, "queued")
        async with asyncio.timeout(15):
            assert (await client.delete(MAIN)).status_code == 204
        for run_id in (asking["id"], held["runId"], queued["runId"]):
            assert refused(await client.get(f"/api/runs/{run_id}"))[0] == 404
        assert refused(await client.get(MAIN))[0] == 404
        assert refused(await client.get(f"/api/sessions/{asking['sessionId']}/history"))[0] == 404
        assert refused(await client.delete(MAIN))[0] == 404
        changed = (await client.get("/api/changes", params={"sinceSeq": seq})).json()
        assert "agent:main:main" in changed["deleted"]["sessions"]
        fresh = await send_and_wait(client, "anew")
        assert (fresh["generation"], fresh["state"]) == (1, "completed")


async def test_another_accounts_sessions_and_runs_are_as_if_missing(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    run = await send_and_wait(client, "mine", taskId="task_1")
    for method, path, body in (
        ("GET", f"/api/sessions/{run['sessionId']}", None),
        ("GET", f"/api/sessions/{run['sessionId']}/history", None),
        ("GET", "/api/sessions/agent:main:task:task_1/queue", None),
        ("PATCH", f"/api/sessions/{run['sessionId']}", {"label": "x"}),
        ("POST", f"/api/sessions/{run['sessionId']}/stop", None),
        ("POST", f"/api/sessions/{run['sessionId']}/reset", None),
        ("POST", f"/api/sessions/{run['sessionId']}/send", {"message": "x"}),
        ("DELETE", f"/api/sessions/{run['sessionId']}", None),
        ("GET", f"/api/runs/{run['id']}", None),
        ("GET", f"/api/runs/{run['id']}/wait", None),
        ("GET", f"/api/runs/{run['id']}/why", None),
        ("GET", f"/api/runs/{run['id']}/receipt", None),
        ("POST", f"/api/runs/{run['id']}/cancel", None),
        ("POST", f"/api/runs/{run['id']}/retry", None),
        ("POST", f"/api/runs/{run['id']}/answer", {"text": "x"}),
    ):
        answer = await other_client.request(method, path, json=body)
        assert refused(answer)[:2] == (404, "not_found"), (method, path)
    assert (await other_client.get("/api/sessions")).json()["sessions"] == []
    assert (await other_client.get("/api/runs")).json()["runs"] == []
    assert (await run_of(client, run["id"]))["state"] == "completed"
