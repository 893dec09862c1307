"""Auto runs over HTTP: start, list and stop them, what their ticks carry, and what is refused."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.kernel import METRICS
from carrel.kernel.settings import AutoSettings, Settings
from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, settled

CHAT, OTHER = "web:conversation-1", "web:conversation-2"
RARELY = {"intervalSeconds": 604_800}


async def started(client: httpx.AsyncClient, session: str = CHAT, **more: Any) -> Json:
    """Start an auto run and return it."""
    answer = await client.post("/api/auto/start", json={"sessionId": session, **RARELY, **more})
    assert answer.status_code == 201, answer.text
    run: Json = answer.json()["run"]
    return run


async def shown(client: httpx.AsyncClient, run: Json) -> Json:
    """Return an auto run as it is now."""
    answer = await client.get(f"/api/auto/runs/{run['runId']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["run"]
    return found


async def ticked(client: httpx.AsyncClient, run: Json) -> Json:
    """Return the first tick of an auto run once it has ended."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            ticks = (await client.get("/api/runs", params={"autoRunId": run["runId"]})).json()["runs"]
            if ticks:
                return await settled(client, ticks[-1]["id"])


async def listed(client: httpx.AsyncClient, session: str = CHAT, **more: Any) -> list[str]:
    """Return the ids of a session's auto runs."""
    answer = await client.get("/api/auto/runs", params={"sessionId": session, **more})
    assert answer.status_code == 200, answer.text
    return [run["runId"] for run in answer.json()["runs"]]


async def made_goal(client: httpx.AsyncClient) -> str:
    """Make a goal of the chat, and the chat with it; return its id."""
    (await client.post("/api/chat", json={"text": "hello", "sessionId": CHAT})).raise_for_status()
    answer = await client.post("/api/goals", json={"sessionId": CHAT, "name": "Ship it"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["goal"]["id"])


async def say(client: httpx.AsyncClient, text: str, session: str = CHAT, **more: Any) -> str:
    """Run a command and return its reply."""
    line = {"text": text, "sessionId": session, "clientInstanceId": "tab-1", **more}
    answer = await client.post("/api/chat", json=line)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["reply"])


async def test_an_auto_run_is_started_shown_listed_and_stopped(client: httpx.AsyncClient) -> None:
    run = await started(client, text="Write the report")
    known: Json = {
        "runKind": "TASK_RUN",
        "sessionId": "conversation-1",
        "sessionKey": f"agent:main:{CHAT}",
        "goalId": None,
    }
    known["sessionIdentity"] = {"channelType": "web", "conversationKey": "conversation-1"}
    assert {name: run[name] for name in known} == known
    assert (run["status"], run["tickCount"], run["endedAt"]) == ("active", 0, None)
    task = (await client.get(f"/api/tasks/{run['taskId']}")).json()["task"]
    assert (task["title"], task["status"]) == ("Write the report", "assigned")
    await ticked(client, run)
    assert await listed(client) == [run["runId"]]
    stopped = await client.post("/api/auto/stop", json={"sessionId": CHAT})
    assert stopped.json() == {"stopped": [run["runId"]]}
    assert await listed(client) == []
    assert await listed(client, includeEnded=1) == [run["runId"]]
    assert ((await shown(client, run))["status"], (await shown(client, run))["reason"]) == ("stopped", "requested")
    assert (await client.post("/api/auto/stop", json={"runId": run["runId"]})).json() == {"stopped": []}


@requirement("S3.auto.carry", "S3.auto.mirror")
async def test_every_tick_carries_the_context_of_its_auto_run(client: httpx.AsyncClient) -> None:
    goal = await made_goal(client)
    for run in (await started(client), await started(client, goalId=goal)):
        tick = await ticked(client, run)
        mirrored = tick["runKind"], tick["autoRunId"], tick["goalId"], tick["taskId"]
        attributes = tick["attributes"]
        assert mirrored == (run["runKind"], run["runId"], run["goalId"], run["taskId"])
        assert mirrored == tuple(
            attributes[name] for name in ("AUTO_RUN_KIND", "AUTO_RUN_ID", "AUTO_GOAL_ID", "AUTO_TASK_ID")
        )
        identity = attributes["SESSION_IDENTITY_CHANNEL"], attributes["SESSION_IDENTITY_CONVERSATION"]
        assert identity == ("web", "conversation-1")
        assert tick["provenance"]["kind"] == "auto"


async def test_what_is_missing_or_unknown_is_refused(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    assert refused(await client.post("/api/auto/start", json={})) == (400, "session_required", "sessionId")
    assert refused(await client.get("/api/auto/runs")) == (400, "session_required", "sessionId")
    assert refused(await client.post("/api/auto/stop", json={})) == (400, "session_required", "sessionId")
    run = await started(client)
    for answer in (
        await client.post("/api/auto/start", json={"sessionId": CHAT, "taskId": "task_nowhere"}),
        await client.post("/api/auto/start", json={"sessionId": CHAT, "goalId": "goal_nowhere"}),
        await client.post("/api/auto/stop", json={"runId": "auto_nowhere"}),
        await client.get("/api/auto/runs/auto_nowhere"),
        await other_client.get(f"/api/auto/runs/{run['runId']}"),
        await other_client.post("/api/auto/stop", json={"runId": run["runId"]}),
        await client.post("/api/auto/stop", json={"runId": run["runId"], "sessionId": "main"}),
    ):
        assert answer.status_code == 404, answer.text
    assert (await shown(client, run))["status"] == "active"


async def test_another_person_neither_sees_nor_stops_the_auto_runs_of_a_chat(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    user = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
    run = await started(client)
    async with server.client(await server.token(client, kind="user", userId=user)) as ada:
        assert (await ada.get(f"/api/auto/runs/{run['runId']}")).status_code == 404
        assert (await ada.post("/api/auto/stop", json={"runId": run["runId"]})).status_code == 404
        assert (await ada.post("/api/auto/stop", json={"sessionId": CHAT})).status_code == 404
        theirs = await started(ada, "main")
        assert (await ada.post("/api/auto/stop", json={"runId": theirs["runId"]})).json()["stopped"] == [
            theirs["runId"]
        ]


async def left(client: httpx.AsyncClient, but: str = "") -> list[str]:
    """What is listed once this one is not, or nothing; an auto run is listed until its tick has ended."""
    async with asyncio.timeout(20):
        while (runs := await listed(client)) and (not but or but in runs):
            pass
    return runs


@requirement("S3.auto.on.task", "S3.auto.off", "S3.auto.off.id", "S3.auto.status", "S3.id.command.context")
async def test_the_command_starts_lists_and_stops_the_auto_runs_of_its_own_session(client: httpx.AsyncClient) -> None:
    assert await say(client, "/auto status") == "No auto run is active in this session."
    reply = await say(client, "/auto on Write the report\nwith a summary")
    (one,) = await listed(client)
    run = await shown(client, {"runId": one})
    assert reply.startswith(f"Started {one} (TASK_RUN): active, task {run['taskId']}")
    assert (run["sessionId"], run["sessionIdentity"]["channelType"]) == ("conversation-1", "web")
    task = (await client.get(f"/api/tasks/{run['taskId']}")).json()["task"]
    assert (task["title"], task["description"]) == ("Write the report", "Write the report\nwith a summary")
    await say(client, f"/auto on task:{task['id']}", OTHER)
    (other,) = await listed(client, OTHER)
    assert (await shown(client, {"runId": other}))["taskId"] == task["id"]
    assert await say(client, "/auto") == await say(client, "/auto status")
    status = await say(client, "/auto status")
    assert (one in status, "TASK_RUN" in status, other in status) == (True, True, False)
    assert one in await say(client, "/status")
    await say(client, "/auto on")
    assert len(await listed(client)) == 2
    assert await say(client, f"/auto off {one}") == f"Stopped {one}."
    assert await left(client, but=one) != []
    assert "Stopped auto_" in await say(client, "/auto off")
    assert (await left(client), await listed(client, OTHER)) == ([], [other])
    assert await say(client, "/auto off") == "No auto run is active in this session."
    assert "There is no such auto run" in await say(client, "/auto off auto_nowhere")
    assert "/auto on" in await say(client, "/auto sideways")


@requirement("S3.auto.on.goal")
async def test_a_goal_in_the_command_or_with_the_message_starts_a_goal_run(client: httpx.AsyncClient) -> None:
    goal = await made_goal(client)
    assert "(GOAL_RUN)" in await say(client, f"/auto on goal:{goal}")
    assert "(GOAL_RUN)" in await say(client, "/auto on", metadata={"goalId": goal})
    runs = [await shown(client, {"runId": one}) for one in await listed(client)]
    assert {run["goalId"] for run in runs} == {goal}
    assert len({run["taskId"] for run in runs}) == 1, "both are on the task to plan the goal"
    assert goal not in {run["taskId"] for run in runs}
    assert "no such goal" in await say(client, f"/auto on goal:{goal}", OTHER)
    line = {"text": "/auto on", "sessionId": OTHER, "metadata": {"goalId": goal}}
    assert (await client.post("/api/chat", json=line)).status_code == 404


@requirement("S3.id.command.context")
async def test_what_a_command_starts_is_logged_with_its_context_and_without_the_chat_it_came_from(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "carrel.modes"):
        await say(client, "/auto on Write it")
    (run_id,) = await listed(client)
    (record,) = [one for one in caplog.records if one.getMessage() == "auto_started"]
    run = await shown(client, {"runId": run_id})
    fields = {"session_identity": CHAT, "auto_run_id": run_id, "run_kind": "TASK_RUN", "task_id": run["taskId"]}
    assert {name: getattr(record, name) for name in fields} == fields
    assert "tab-1" not in str(vars(record))


@requirement("S3.auto.commands.kept")
async def test_the_commands_from_before_are_still_there(client: httpx.AsyncClient) -> None:
    usage = await say(client, "/help")
    for name in ("help", "status", "whoami", "new", "sessions", "switch", "reset", "stop", "send", "schedule", "model"):
        assert f"/{name}" in usage


async def test_stop_in_a_chat_stops_its_auto_runs_too(client: httpx.AsyncClient) -> None:
    run, other = await started(client), await started(client, OTHER)
    await say(client, "/stop")
    assert (await shown(client, run))["reason"] == "session_stopped"
    assert (await shown(client, other))["status"] == "active"


async def test_a_deleted_session_stops_its_auto_runs(client: httpx.AsyncClient) -> None:
    run = await started(client)
    await ticked(client, run)
    assert (await client.delete(f"/api/sessions/agent:main:{CHAT}")).status_code == 204
    assert (await client.get(f"/api/auto/runs/{run['runId']}")).status_code == 404


@requirement("S3.x.auto.own")
async def test_each_session_has_its_own_auto_runs_and_events(client: httpx.AsyncClient) -> None:
    async with follow(client) as events:
        one, two = await started(client), await started(client, OTHER)
        await client.post("/api/auto/stop", json={"sessionId": CHAT})
        seen: list[Json] = []
        while not any(event["name"] == "auto.stopped" for event in seen):
            frame = await events.next()
            seen += [frame.body] if frame.name.startswith("auto.") else []
    assert [event["data"]["run"]["runId"] for event in seen if event["name"] == "auto.started"] == [
        one["runId"],
        two["runId"],
    ]
    for event in seen:
        assert event["sessionId"] == event["data"]["run"]["sessionId"]
    assert (await listed(client), await listed(client, OTHER)) == ([], [two["runId"]])


@pytest.fixture
async def strict(sqlite_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of a server whose auto runs have one tick."""
    settings = Settings(auto=AutoSettings(max_ticks=1, tick_seconds=1))
    async with open_http_server(sqlite_url, settings=settings) as server, server.client() as owner:
        yield owner


@requirement("S3.metric.auto.started", "S3.metric.auto.completed")
async def test_starts_and_ends_are_counted_by_kind(strict: httpx.AsyncClient) -> None:
    def read(name: str, **labels: str) -> float:
        wanted = tuple(sorted(labels.items()))
        return sum(one.value for one in METRICS.samples() if (one.name, one.labels) == (name, wanted))

    def counted() -> tuple[float, float]:
        ended = {"runKind": "TASK_RUN", "status": "stopped"}
        return read("auto.run.started.count", runKind="TASK_RUN", channel="web"), read(
            "auto.run.completed.count", **ended
        )

    before = counted()
    run = await started(strict)
    async with asyncio.timeout(SECONDS_MAX):
        while (await shown(strict, run))["status"] == "active":
            await ticked(strict, run)
    assert counted() == (before[0] + 1, before[1] + 1)
    assert (await shown(strict, run))["reason"] == "max_ticks"


async def test_the_status_of_a_session_names_its_auto_runs(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await started(client, "main")
    token = await server.token(client, kind="agent", agentId="main")
    async with server.client(token) as agent:
        answer = await agent.post("/agent/session_status", json={})
    assert answer.json()["autoRuns"] == [run["runId"]]
