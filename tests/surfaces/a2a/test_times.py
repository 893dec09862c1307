"""What time does to tasks: one that works too long is stopped, an ended one is kept for days; and all is counted."""

from typing import Any

import httpx
import pytest

from carrel.kernel.settings import A2aSettings, A2aTasksSettings, RunsSettings, Settings
from carrel.runs import prune
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.speaking import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    REJECTED,
    SUBMITTED,
    WORKING,
    ask,
    call,
    doing,
    get,
    listed,
    refusal,
    said,
    send,
    state,
)

pytestmark = pytest.mark.anyio
# Less than a millisecond; 0 would mean for ever.
A_MOMENT_DAYS = 1e-9
# Short enough to wait for, long enough for what ends by itself.
BRIEF = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(timeout_minutes=0.01)))


@requirement("S1.timeout.default", "S1.timeout.cancels", "S1.dispatch.next")
async def test_a_task_that_works_too_long_fails_and_nothing_of_it_is_kept_afterwards(store_url: str) -> None:
    async with open_http_server(store_url, settings=BRIEF) as server, server.client() as client:
        slow = doing(("hold", "it"), ("artifact_add", {"text": "too late"}))
        task = await send(client, slow, contextId="c", at_once=True)
        await server.agent.reached("it")
        # The time in the queue does not count: this one begins when the other's time is up.
        assert state(await send(client, "behind", contextId="c")) == COMPLETED
        late = await get(client, task)
        assert (state(late), late["metadata"]["reason"]) == (FAILED, "timeout")
        assert said(late)
        server.agent.release("it")
        assert state(await send(client, "and on", contextId="c")) == COMPLETED
        assert await get(client, task) == late
        assert "artifacts" not in late


@requirement("S1.timeout.default")
async def test_the_time_limit_is_of_a2a_alone_and_half_an_hour_unless_it_is_set(
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
    """Remove what is past its time where ended tasks are kept so many days."""
    settings = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=ttl_days)))
    await server.db.write(lambda tx: prune(tx, settings))


@requirement("S1.ttl.default", "S1.ttl.all.ends", "S1.list.page", "S1.metrics")
async def test_ended_tasks_are_gone_when_their_time_is_up_and_live_ones_never(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as client:
        ended = [
            await send(client, "hello"),
            await send(client, "fail for good"),
            await send(client, doing(("decline", {"reason": "no"}))),
        ]
        stopped = await send(client, "ask what?")
        ended.append(await ask(client, "CancelTask", id=stopped["id"]))
        assert [state(task) for task in ended] == [COMPLETED, FAILED, REJECTED, CANCELED]
        working = await send(client, "hold it", contextId="c", at_once=True)
        await server.agent.reached("it")
        live = [working, await send(client, "behind", contextId="c", at_once=True), await send(client, "ask when?")]
        assert [state(await get(client, task)) for task in live] == [WORKING, SUBMITTED, INPUT_REQUIRED]
        await prune_with(server, Settings().a2a.tasks.ttl_days)
        assert len(await listed(client)) == 7
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
    """What is counted under a name, with whatever other labels."""
    shown: list[Any] = (await client.get("/api/metrics")).json()["metrics"]
    readings = [one for one in shown if one["name"] == name and labels.items() <= one["labels"].items()]
    return sum(float(one.get("count", one["value"])) for one in readings)


@requirement("S1.metrics")
async def test_tasks_are_counted_as_they_queue_work_and_end(server: HttpServer, client: httpx.AsyncClient) -> None:
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
    # Two completed, one failed, one cancelled before it began: three waited for their turn and worked.
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 1, 1, 3, 3]
    assert (await figure(client, "runs.running"), await figure(client, "runs.queued")) == (0, 0)
    assert state(await get(client, working)) == COMPLETED
