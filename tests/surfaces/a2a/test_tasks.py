"""Cancelling a task: a queued one never starts, a working one stops, an ended one stays as it is."""

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    CANCELED,
    COMPLETED,
    NEW,
    WORKING,
    agent_steps,
    ask,
    call,
    get,
    refusal,
    send,
    state,
    subscribe,
    summary,
)


@requirement("S1.cancel.queued", "S1.x.cancel.leaves")
async def test_a_cancelled_queued_task_ends_at_once_and_never_starts(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    agent = either_server.agent
    await send(on_either, "hold it", contextId="c", at_once=True)
    await agent.reached("it")
    doomed = await send(on_either, "never said", contextId="c", at_once=True)
    behind = await send(on_either, "behind", contextId="c", at_once=True)
    cancelled = await ask(on_either, "CancelTask", id=doomed["id"])
    assert (cancelled["id"], state(cancelled)) == (doomed["id"], CANCELED)
    assert (await get(on_either, behind))["metadata"]["queuePosition"] == 1
    agent.release("it")
    assert state(await send(on_either, "last", contextId="c")) == COMPLETED
    assert "never said" not in str(agent.bodies)
    assert state(await get(on_either, doomed)) == CANCELED


@requirement("S1.cancel.working")
async def test_a_cancelled_working_task_stops_and_frees_its_lane(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    steps = agent_steps(
        ("artifact_add", {"text": "before", "artifactId": "a"}), ("hold", "it"), ("artifact_add", {"text": "b"})
    )
    task = await send(on_either, steps, contextId="c", at_once=True)
    await either_server.agent.reached("it")
    behind = await send(on_either, "behind", contextId="c", at_once=True)
    async with subscribe(on_either, task) as stream:
        assert state((await stream.next()).body) == WORKING
        cancelled = await ask(on_either, "CancelTask", id=task["id"])
        assert state(cancelled) == CANCELED
        assert summary(await stream.rest()) == [CANCELED]
    either_server.agent.release("it")
    assert state(await send(on_either, "last", contextId="c")) == COMPLETED
    shown = await get(on_either, task)
    assert (state(shown), [one["artifactId"] for one in shown["artifacts"]]) == (CANCELED, ["a"])
    assert state(await get(on_either, behind)) == COMPLETED


@requirement("S1.cancel.terminal", "S1.wire.errors")
async def test_an_ended_task_is_not_cancelable_and_an_unknown_one_is_not_found(client: httpx.AsyncClient) -> None:
    done, rejected = await send(client, "hello"), await send(client, agent_steps(("decline", {"reason": "no"})))
    asked = await send(client, "ask what?")
    await ask(client, "CancelTask", id=asked["id"])
    for task in (done, rejected, asked):
        before = await get(client, task)
        assert refusal(await call(client, "CancelTask", {"id": task["id"]})) == (-32002, "TASK_NOT_CANCELABLE", None)
        rest = await client.post(f"/a2a/main/tasks/{task['id']}:cancel", headers=NEW)
        assert (rest.status_code, rest.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")
        assert await get(client, task) == before
    assert refusal(await call(client, "CancelTask", {"id": "run_unknown"})) == (-32001, "TASK_NOT_FOUND", None)
    assert (await client.post("/a2a/main/tasks/run_unknown:cancel", headers=NEW)).status_code == 404


async def test_cancelling_over_http_accepts_metadata_and_needs_no_body(client: httpx.AsyncClient) -> None:
    for body in ({"metadata": {"why": "changed my mind"}}, None):
        asked = await send(client, "ask what?")
        answer = await client.post(f"/a2a/main/tasks/{asked['id']}:cancel", headers=NEW, json=body)
        assert (answer.status_code, state(answer.json())) == (200, CANCELED)
