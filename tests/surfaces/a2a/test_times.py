"""Timeouts, retention and metrics: a task that runs too long fails, ended tasks are kept for days."""

from typing import Any

import httpx

from carrel.kernel.settings import A2aSettings, A2aTasksSettings, RunsSettings, Settings
from carrel.runs.pruner import prune
from tests.harness.elapsing import Elapsing
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    REJECTED,
    SUBMITTED,
    WORKING,
    agent_steps,
    ask,
    call,
    get,
    refusal,
    send,
    state,
    task_ids,
    text_of,
)

# Less than a millisecond; 0 would mean for ever.
A_MOMENT_DAYS = 1e-9


@requirement("S1.timeout.default", "S1.timeout.cancels", "S1.dispatch.next")
async def test_a_task_that_runs_too_long_fails_and_adds_nothing_afterwards(store_url: str, elapsing: Elapsing) -> None:
    async with open_http_server(store_url) as server, server.client() as client:
        slow = agent_steps(("hold", "it"), ("artifact_add", {"text": "too late"}))
        task = await send(client, slow, contextId="c", at_once=True)
        await server.agent.reached("it")
        elapsing.advance(Settings().a2a.tasks.timeout_minutes * 60)
        # Time in the queue does not count: this task starts when the other one's time is up.
        assert state(await send(client, "behind", contextId="c")) == COMPLETED
        late = await get(client, task)
        assert (state(late), late["metadata"]["reason"]) == (FAILED, "timeout")
        assert text_of(late)
        server.agent.release("it")
        assert state(await send(client, "and on", contextId="c")) == COMPLETED
        assert await get(client, task) == late
        assert "artifacts" not in late


@requirement("S1.timeout.default")
async def test_a2a_has_its_own_timeout_of_half_an_hour_by_default(
    server: HttpServer, client: httpx.AsyncClient, sqlite_url: str
) -> None:
    async def limit(client: httpx.AsyncClient) -> int:
        task = await send(client, "hello")
        return int((await client.get(f"/api/runs/{task['id']}")).json()["run"]["timeoutSeconds"])

    assert await limit(client) == 30 * 60
    none = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(timeout_minutes=0)), runs=RunsSettings(timeout_minutes=5))
    async with open_http_server(f"{sqlite_url}.other", settings=none) as other, other.client() as caller:
        assert await limit(caller) == 0


async def prune_with(server: HttpServer, ttl_days: float) -> None:
    """Prune with this retention of ended tasks."""
    settings = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=ttl_days)))
    await server.db.write(lambda tx: prune(tx, settings))


@requirement("S1.ttl.default", "S1.ttl.all.ends", "S1.list.page", "S1.metrics")
async def test_only_ended_tasks_are_pruned_after_their_retention(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as client:
        ended = [
            await send(client, "hello"),
            await send(client, "fail for good"),
            await send(client, agent_steps(("decline", {"reason": "no"}))),
        ]
        stopped = await send(client, "ask what?")
        ended.append(await ask(client, "CancelTask", id=stopped["id"]))
        assert [state(task) for task in ended] == [COMPLETED, FAILED, REJECTED, CANCELED]
        working = await send(client, "hold it", contextId="c", at_once=True)
        await server.agent.reached("it")
        live = [working, await send(client, "behind", contextId="c", at_once=True), await send(client, "ask when?")]
        assert [state(await get(client, task)) for task in live] == [WORKING, SUBMITTED, INPUT_REQUIRED]
        await prune_with(server, Settings().a2a.tasks.ttl_days)
        assert len(await task_ids(client)) == 7
        assert (await ask(client, "ListTasks", status=COMPLETED))["totalSize"] == 1
        before = await figure(client, "runs.purged.count")
        await prune_with(server, A_MOMENT_DAYS)
        assert await figure(client, "runs.purged.count") == before + 4
        for task in ended:
            assert refusal(await call(client, "GetTask", {"id": task["id"]})) == (-32001, "TASK_NOT_FOUND", None)
        assert (await ask(client, "ListTasks", status=COMPLETED))["totalSize"] == 0
        page = await ask(client, "ListTasks")
        assert ({task["id"] for task in page["tasks"]}, page["totalSize"]) == ({task["id"] for task in live}, 3)
        server.agent.release("it")


async def figure(client: httpx.AsyncClient, name: str, **labels: str) -> float:
    """Return the sum of a metric over all other labels."""
    shown: list[Any] = (await client.get("/api/metrics")).json()["metrics"]
    readings = [one for one in shown if one["name"] == name and labels.items() <= one["labels"].items()]
    return sum(float(one.get("count", one["value"])) for one in readings)


@requirement("S1.metrics")
async def test_tasks_are_counted_while_they_queue_and_run_and_when_they_end(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    counted = [("runs.ended.count", {"state": name}) for name in ("completed", "failed", "cancelled")]
    counted += [("runs.wait.seconds", {"provenance": "a2a"}), ("runs.duration.seconds", {"provenance": "a2a"})]
    before = [await figure(client, name, **labels) for name, labels in counted]
    working = await send(client, "hold it", contextId="c", at_once=True)
    await server.agent.reached("it")
    queued = [await send(client, f"line {n}", contextId="c", at_once=True) for n in range(2)]
    assert (await figure(client, "runs.running"), await figure(client, "runs.queued")) == (1, 2)
    await ask(client, "CancelTask", id=queued[0]["id"])
    server.agent.release("it")
    assert state(await send(client, "fail for good", contextId="c")) == FAILED
    after = [await figure(client, name, **labels) for name, labels in counted]
    # Two completed, one failed, one cancelled before it started: three waited and ran.
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 1, 1, 3, 3]
    assert (await figure(client, "runs.running"), await figure(client, "runs.queued")) == (0, 0)
    assert state(await get(client, working)) == COMPLETED
