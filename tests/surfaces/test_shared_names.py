"""Two accounts with the same keys and ids, on every surface besides `/api`: each caller reaches only its own account.

Account B is a twin of A with texts of its own. What B asks for under a shared name is answered from B, and A's main
session, tasks, responses and webhooks stay as they are.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from carrel.kernel.settings import A2aPushSettings, A2aSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway
from tests.surfaces.a2a.a2a_calls import COMPLETED, INPUT_REQUIRED, ask, call, message, send, state
from tests.surfaces.a2a.test_push import accepting, hook_of
from tests.surfaces.api.test_websocket import line
from tests.surfaces.api_calls import send_and_wait
from tests.surfaces.mcp import client as mcp
from tests.surfaces.responses.client import post, respond
from tests.surfaces.test_account_isolation import SECRET, TWIN, share

Json = dict[str, Any]
MAIN = "agent:main:main"
WORK = "work-of-both"
PRIVATE = Settings(a2a=A2aSettings(push=A2aPushSettings(allow_private_addresses=True)))


class Twins(msgspec.Struct):
    """A server with both accounts, their owners' clients, and the names that they share."""

    server: HttpServer
    a: httpx.AsyncClient
    b: httpx.AsyncClient
    task: str
    waiting: str
    context: str
    response: str
    before: list[Any]

    async def look(self) -> list[Any]:
        """All that account A shows on these surfaces."""
        tasks = await ask(self.a, "ListTasks", historyLength=10, includeArtifacts=True)
        configs = await ask(self.a, "ListTaskPushNotificationConfigs", taskId=self.waiting)
        of_tasks = ("/api/tasks", f"/api/tasks/{WORK}/thread", f"/api/tasks/{WORK}/history")
        paths = (
            *of_tasks,
            f"/v1/responses/{self.response}",
            f"/api/sessions/{MAIN}/history",
            "/api/sessions",
            "/api/runs",
        )
        return [tasks, configs, *[(await self.a.get(path)).json() for path in paths]]


async def check_own(twins: Twins, *told: str) -> None:
    """Assert that B was told of its own account and not of A, which is as it was."""
    assert SECRET not in "".join(told)
    assert TWIN in "".join(told), told
    assert await twins.look() == twins.before


@pytest.fixture
async def receivers() -> AsyncIterator[tuple[ScriptedGateway, ScriptedGateway]]:
    """Where the webhooks of A and of B go."""
    with ScriptedGateway() as of_a, ScriptedGateway() as of_b:
        yield accepting(of_a), accepting(of_b)


@pytest.fixture
async def twins(store_url: str, receivers: tuple[ScriptedGateway, ScriptedGateway]) -> AsyncIterator[Twins]:
    """Account A with a talk, tasks, a webhook and a response; and B, its twin."""
    of_a, of_b = map(hook_of, receivers)
    async with open_http_server(store_url, settings=PRIVATE) as server, server.client() as a:
        await send_and_wait(a, f"{SECRET} in the main session")
        task = await send(a, f"{SECRET} task")
        waiting = await send(a, f"ask {SECRET}?")
        await ask(a, "CreateTaskPushNotificationConfig", taskId=waiting["id"], id="hook", url=of_a, token=SECRET)
        response = await respond(a, f"{SECRET} response")
        await work_on(a)
        await share(server, (of_a, of_b), (of_a.split("/")[2], of_b.split("/")[2]))
        async with server.client(server.other_owner) as b:
            found = Twins(
                server, a, b, task=task["id"], waiting=waiting["id"], context=task["contextId"],
                response=response["id"], before=[],
            )  # fmt: skip
            found.before = await found.look()
            yield found


async def work_on(a: httpx.AsyncClient) -> None:
    """Give account A a task on which its agent has answered."""
    (await a.post("/api/tasks", json={"id": WORK, "title": SECRET, "description": SECRET})).raise_for_status()
    said = (await a.post(f"/api/tasks/{WORK}/messages", json={"content": f"@main {SECRET}"})).json()
    (await a.get(f"/api/runs/{said['notified'][0]['runId']}/wait")).raise_for_status()


def a2a_calls(twins: Twins) -> list[tuple[str, Json]]:
    """Every operation of A2A under the shared names; what ends a task comes last."""
    of_task, hook = {"taskId": twins.waiting}, {"taskId": twins.waiting, "id": "hook"}
    return [
        ("GetExtendedAgentCard", {}),
        ("ListTasks", {}),
        ("ListTasks", {"contextId": twins.context, "historyLength": 10, "includeArtifacts": True}),
        ("GetTask", {"id": twins.task, "historyLength": 10}),
        ("GetTask", {"id": twins.waiting, "historyLength": 10}),
        ("SubscribeToTask", {"id": twins.task}),
        ("ListTaskPushNotificationConfigs", of_task),
        ("GetTaskPushNotificationConfig", hook),
        ("CreateTaskPushNotificationConfig", {**hook, "url": "https://93.184.216.34/", "token": "b"}),
        ("DeleteTaskPushNotificationConfig", hook),
        ("SendMessage", {"message": message("more", contextId=twins.context)}),
        ("SendMessage", {"message": message("yes", **of_task)}),
        ("CancelTask", {"id": twins.task}),
        ("CancelTask", {"id": twins.waiting}),
    ]


@requirement("P.account.wall")
async def test_a2a_stays_in_the_callers_account(twins: Twins) -> None:
    told = [json.dumps(await call(twins.b, method, params)) for method, params in a2a_calls(twins)]
    await check_own(twins, *told)


@requirement("P.account.wall")
async def test_open_responses_stay_in_the_callers_account(twins: Twins) -> None:
    found = await twins.b.get(f"/v1/responses/{twins.response}")
    assert found.status_code == 200
    continued = await post(twins.b, "and then?", previous_response_id=twins.response)
    assert continued.status_code == 200
    cancelled = await twins.b.post(f"/v1/responses/{twins.response}/cancel")
    kept = await post(twins.b, "hi", {"x-openclaw-session-key": MAIN})
    await check_own(twins, found.text, continued.text, cancelled.text, kept.text)


TOOLS: list[tuple[str, Json]] = [
    ("agents_list", {}),
    ("sessions_list", {"messageLimit": 10}),
    ("session_status", {"sessionKey": MAIN}),
    ("sessions_history", {"sessionKey": MAIN}),
    ("sessions_send", {"sessionKey": MAIN, "message": "hi", "timeoutSeconds": 10}),
    ("sessions_spawn", {"task": "look around", "agentId": "main"}),
    ("task_list", {}),
    ("task_get", {"taskId": WORK}),
    ("task_history", {"taskId": WORK}),
    ("task_load", {"taskId": WORK}),
    ("task_thread", {"taskId": WORK}),
    ("task_search", {"query": "work"}),
    ("task_message", {"taskId": WORK, "content": "hi"}),
    ("task_assign", {"taskId": WORK, "assigneeSlugs": ["main"]}),
    ("task_status", {"taskId": WORK, "status": "in_progress"}),
    ("task_update", {"taskId": WORK, "title": f"{TWIN} work"}),
    ("clawboard_search", {"q": "work"}),
    ("clawboard_get_task", {"id": WORK}),
    ("clawboard_update_task", {"id": WORK, "priority": 2}),
    ("task_delete", {"taskId": WORK, "reason": "enough"}),
]


@requirement("P.account.wall")
async def test_tools_over_http_stay_in_the_callers_account(twins: Twins) -> None:
    answers = [await twins.b.post(f"/agent/{tool}", json=arguments) for tool, arguments in TOOLS]
    assert {answer.text for answer in answers if answer.status_code != 200} == set()
    await check_own(twins, *(answer.text for answer in answers))


@requirement("P.account.wall")
async def test_tools_over_mcp_stay_in_the_callers_account(twins: Twins) -> None:
    await check_own(twins, *[json.dumps(await mcp.call(twins.b, tool, arguments)) for tool, arguments in TOOLS])


@requirement("P.account.wall")
async def test_the_chats_socket_stays_in_the_callers_account(twins: Twins) -> None:
    async with line(twins.server) as of_a, line(twins.server, twins.server.other_owner) as of_b:
        await of_a.bind(sessionId="main", clientInstanceId="tab")
        await of_b.bind(sessionId="main", clientInstanceId="tab")
        await of_b.send("message", sessionId="main", clientInstanceId="tab", text=f"{TWIN} calls")
        heard_by_b = await of_b.until("assistant_done")
        await of_a.send("message", sessionId="main", clientInstanceId="tab", text="hello")
        heard_by_a = await of_a.until("assistant_done")
    assert TWIN in json.dumps(heard_by_b)
    assert SECRET not in json.dumps(heard_by_b)
    assert TWIN not in json.dumps(heard_by_a)


@requirement("P.account.wall")
async def test_a_webhook_hears_only_of_the_run_of_its_own_account(
    twins: Twins, receivers: tuple[ScriptedGateway, ScriptedGateway]
) -> None:
    of_a, of_b = receivers
    answered = await send(twins.b, "yes", taskId=twins.waiting)
    assert state(answered) == COMPLETED
    posted = await asyncio.to_thread(of_b.wait_for_requests, 2)
    assert SECRET not in "".join(json.dumps(request.json) for request in posted)
    assert of_a.requests == []
    assert state(await ask(twins.a, "GetTask", id=twins.waiting)) == INPUT_REQUIRED
    assert await twins.look() == twins.before


@requirement("P.account.wall")
async def test_deleting_a_session_leaves_the_session_of_the_same_key_in_another_account(twins: Twins) -> None:
    assert (await twins.b.delete(f"/api/sessions/{MAIN}")).status_code == 204
    for run in (await twins.b.get("/api/runs")).json()["runs"]:
        await twins.b.post(f"/api/runs/{run['id']}/cancel")
    for session in (await twins.b.get("/api/sessions")).json()["sessions"]:
        await twins.b.delete(f"/api/sessions/{session['key']}")
    assert await twins.look() == twins.before
