"""Contexts are lanes: each runs one task at a time, in order, and no context waits for another."""

import asyncio
from urllib.parse import quote

import httpx

from carrel.kernel import caller_hash
from carrel.kernel.settings import RunsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    NEW,
    SUBMITTED,
    WORKING,
    Json,
    ask,
    call,
    get,
    message,
    refusal,
    send,
    state,
    subscribe,
    summary,
    task_ids,
)

ODD = ["", "a b", "Käse", "x" * 65, "a:b", "../..", "💬", "%00", "a/b?c#d", "'; DROP TABLE runs; --", "\x7f", "x" * 512]


async def hold(server: HttpServer, client: httpx.AsyncClient, name: str, **more: str) -> Json:
    """Return a task that works until its name is released."""
    task = await send(client, f"hold {name}", at_once=True, **more)
    await server.agent.reached(name)
    return task


async def finished(client: httpx.AsyncClient, *tasks: Json) -> list[Json]:
    """Return the tasks once they have ended or wait."""
    for task in tasks:
        (await client.get(f"/api/runs/{task['id']}/wait", params={"timeoutSeconds": 15})).raise_for_status()
    return [await get(client, task) for task in tasks]


@requirement("S1.dispatch.idle", "S1.dispatch.parallel")
async def test_a_message_to_a_free_context_runs_whatever_other_contexts_do(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    slow = [await hold(either_server, on_either, f"slow-{n}", contextId=f"slow-{n}") for n in range(3)]
    assert state(await send(on_either, "quick", contextId="quick")) == COMPLETED
    assert [state(await get(on_either, task)) for task in slow] == [WORKING] * 3
    for n in range(3):
        either_server.agent.release(f"slow-{n}")
    assert [state(task) for task in await finished(on_either, *slow)] == [COMPLETED] * 3


@requirement("S1.dispatch.busy", "S1.queue.notreject", "S1.x.states.closed")
async def test_a_message_to_a_busy_context_is_queued_with_its_position(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    working = await hold(either_server, on_either, "it", contextId="c")
    queued = [await send(on_either, f"line {n}", contextId="c", at_once=True) for n in range(5)]
    assert [state(task) for task in queued] == [SUBMITTED] * 5
    assert [task["metadata"]["queuePosition"] for task in queued] == [1, 2, 3, 4, 5]
    assert all(task["metadata"]["queuedAt"].endswith("Z") for task in queued)
    shown = (await ask(on_either, "ListTasks", contextId="c", status=SUBMITTED))["tasks"]
    assert [task["metadata"]["queuePosition"] for task in shown] == [5, 4, 3, 2, 1]
    assert "queuePosition" not in (await get(on_either, working))["metadata"]
    either_server.agent.release("it")


@requirement("S1.dispatch.fifo", "S1.dispatch.serial")
async def test_tasks_of_a_context_run_one_at_a_time_in_order(either_server: HttpServer) -> None:
    agent = either_server.agent
    async with either_server.client() as client:
        tasks = [await send(client, f"hold {name}", contextId="c", at_once=True) for name in "ABC"]
        for at, name in enumerate("ABC"):
            await agent.reached(name)
            states = [state(await get(client, task)) for task in tasks]
            assert states == [COMPLETED] * at + [WORKING] + [SUBMITTED] * (2 - at)
            agent.release(name)
            await finished(client, tasks[at])


@requirement("S1.dispatch.next", "S1.cancel.working")
async def test_the_next_task_starts_however_the_last_one_ended(server: HttpServer, client: httpx.AsyncClient) -> None:
    first = await hold(server, client, "it", contextId="c")
    lines = ("fail for good", "ask what?", "hold on", "last")
    queued = [await send(client, line, contextId="c", at_once=True) for line in lines]
    assert state(await ask(client, "CancelTask", id=first["id"])) == CANCELED
    await server.agent.reached("on")
    server.agent.release("on")
    assert [state(task) for task in await finished(client, *queued)] == [FAILED, INPUT_REQUIRED, COMPLETED, COMPLETED]


@requirement("S1.dispatch.visible", "S1.history.queued")
async def test_a_queued_task_can_be_read_listed_streamed_and_cancelled(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await hold(server, client, "it", contextId="c")
    sent = message("behind it", contextId="c")
    queued = (await ask(client, "SendMessage", message=sent, configuration={"returnImmediately": True}))["task"]
    assert (await get(client, queued))["history"] == [sent | {"taskId": queued["id"]}]
    assert queued["id"] in await task_ids(client, status=SUBMITTED)
    async with subscribe(client, queued) as stream:
        assert state((await stream.next()).body) == SUBMITTED
        assert state(await ask(client, "CancelTask", id=queued["id"])) == CANCELED
        assert summary(await stream.rest()) == [CANCELED]
    server.agent.release("it")


@requirement("S1.dispatch.route", "S1.x.context.text")
async def test_a_context_is_one_lane_of_its_caller_and_agent(client: httpx.AsyncClient, server: HttpServer) -> None:
    owner = caller_hash((await server.access_of()).actor_id)
    await client.post("/api/agents", json={"id": "writer"})
    keys = [
        (await send(client, "one", contextId="plain_1-x"))["metadata"]["sessionKey"],
        (await send(client, "two", contextId="plain_1-x"))["metadata"]["sessionKey"],
        (await send(client, "three", contextId="plain_1-x", agent="writer"))["metadata"]["sessionKey"],
    ]
    assert keys == [f"agent:main:a2a:{owner}:plain_1-x"] * 2 + [f"agent:writer:a2a:{owner}:plain_1-x"]


@requirement("S1.x.context.text")
async def test_any_text_is_a_valid_context_id_with_a_lane_of_its_own(
    on_either: httpx.AsyncClient,
) -> None:
    seen = {}
    for context in ODD:
        task = await send(on_either, "hello", contextId=context)
        assert (await get(on_either, task))["contextId"] == (context or task["contextId"])
        again = await send(on_either, "again", contextId=task["contextId"])
        assert again["metadata"]["sessionKey"] == task["metadata"]["sessionKey"]
        shown = await on_either.get("/a2a/main/tasks", params={"contextId": task["contextId"]}, headers=NEW)
        assert [one["id"] for one in shown.json()["tasks"]] == [again["id"], task["id"]]
        seen[task["metadata"]["sessionKey"]] = context
    assert len(seen) == len(ODD)
    hashed = [key.rpartition(":")[2] for key, context in seen.items() if context]
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in hashed)


@requirement("S1.queue.limit", "S1.x.cancel.leaves")
async def test_a_full_queue_refuses_without_a_task_and_accepts_again_after_a_cancel(surface_url: str) -> None:
    settings = Settings(runs=RunsSettings(lane_queue_max=2))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await hold(server, client, "it", contextId="c")
        queued = [await send(client, f"line {n}", contextId="c", at_once=True) for n in range(2)]
        late: Json = {"message": message("too late", contextId="c")}
        for method in ("SendMessage", "SendStreamingMessage"):
            answer = await call(client, method, late)
            assert refusal(answer) == (-32000, "QUEUE_FULL", None)
            assert answer["error"]["data"][0]["domain"] == "carrel"
        rest = await client.post("/a2a/main/message:send", json=late, headers=NEW)
        assert (rest.status_code, int(rest.headers["retry-after"]) > 0) == (429, True)
        assert rest.json()["error"]["status"] == "RESOURCE_EXHAUSTED"
        old = {"messageId": "m-old", "role": "user", "contextId": "c", "parts": [{"kind": "text", "text": "x"}]}
        assert refusal(await call(client, "message/send", {"message": old}, version="0.3"))[0] == -32000
        assert (await ask(client, "ListTasks", contextId="c"))["totalSize"] == 3
        assert state(await send(client, "elsewhere", contextId="d")) == COMPLETED
        await ask(client, "CancelTask", id=queued[0]["id"])
        assert (await get(client, queued[1]))["metadata"]["queuePosition"] == 1
        again = (await ask(client, "SendMessage", **late, configuration={"returnImmediately": True}))["task"]
        assert again["metadata"]["queuePosition"] == 2
        server.agent.release("it")


@requirement("S1.queue.pending")
async def test_pending_tasks_of_a_context_are_listed_in_order(server: HttpServer, client: httpx.AsyncClient) -> None:
    working = await hold(server, client, "it", contextId="c")
    queued = [await send(client, f"line {n}", contextId="c", at_once=True) for n in range(3)]
    key = quote(working["metadata"]["sessionKey"], safe="")
    shown = (await client.get(f"/api/sessions/{key}/queue")).json()
    assert [run["id"] for run in shown["runs"] if run["state"] == "queued"] == [task["id"] for task in queued]
    server.agent.release("it")


@requirement("S1.x.bind.run", "S1.complete")
async def test_a_message_to_the_lane_from_another_surface_ends_no_task(server: HttpServer) -> None:
    async with server.client() as client:
        first = await hold(server, client, "it", contextId="c")
        key = first["metadata"]["sessionKey"]
        line = await client.post("/api/runs", json={"sessionKey": key, "message": "a line by the way"})
        assert line.status_code == 202, line.text
        second = await send(client, "hold second", contextId="c", at_once=True)
        server.agent.release("it")
        await server.agent.reached("second")
        states = [state(await get(client, task)) for task in (first, second)]
        assert states == [COMPLETED, WORKING]
        assert (await client.get(f"/api/runs/{line.json()['runId']}")).json()["run"]["state"] == "completed"
        assert refusal(await call(client, "GetTask", {"id": line.json()["runId"]}))[0] == -32001
        server.agent.release("second")
        (done,) = await finished(client, second)
        assert done["artifacts"][0]["parts"] == [{"text": "echo: hold second"}]


@requirement("S1.dispatch.parallel", "S1.dispatch.serial")
async def test_many_concurrent_contexts_each_keep_their_order(server: HttpServer, client: httpx.AsyncClient) -> None:
    async def talk(context: str) -> list[str]:
        tasks = [await send(client, f"line {n}", contextId=context, at_once=True) for n in range(4)]
        return [task["status"]["timestamp"] for task in await finished(client, *tasks)]

    for times in await asyncio.gather(*(talk(f"c-{n}") for n in range(8))):
        assert times == sorted(times)
