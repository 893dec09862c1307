"""Tasks and streams across kills, restarts and servers: nothing is lost, and all clients see the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    SUBMITTED,
    WORKING,
    Frame,
    Json,
    apply_frames,
    ask,
    get,
    send,
    state,
    stream_send,
    subscribe,
    summary,
    text_of,
)

WAIT_SECONDS = 30.0


class Model:
    """Echoes; `hold <name>` waits at the gate of that name, `add <name>` adds an artifact first, `ask` asks back."""

    def __init__(self, gateway: ScriptedGateway) -> None:
        self.gates: dict[str, Gate] = {}
        self.received: list[str] = []
        gateway.rule = self.answer

    def gate(self, name: str) -> Gate:
        """Open a new gate of that name."""
        self.gates[name] = Gate()
        return self.gates[name]

    def answer(self, request: Request) -> Answer:
        """Answer one request."""
        sent = request.json["input"]
        line = next(item for item in reversed(sent) if item.get("role") == "user")["content"][-1]["text"]
        self.received.append(line)
        word, _, rest = line.partition(" ")
        if word == "ask":
            return calls(("request_input", {"question": rest}))
        if word == "add" and sent[-1].get("type") != "function_call_output":
            return calls(("artifact_add", {"text": "kept", "artifactId": "a"}))
        return text(f"echo: {line}", before=self.gates.get(rest))


@asynccontextmanager
async def caller(server: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a server in its own process."""
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=WAIT_SECONDS) as client:
        yield client


async def ended(client: httpx.AsyncClient, task: Json) -> Json:
    """Return the task once it has ended or waits."""
    (await client.get(f"/api/runs/{task['id']}/wait", params={"timeoutSeconds": 25})).raise_for_status()
    return await get(client, task)


def same(first: Json, frames: list[Frame], task: Json) -> bool:
    """Return whether the streamed task equals the task that was read."""
    followed = apply_frames(first, frames)
    return all(followed.get(name) == task.get(name) for name in ("status", "artifacts"))


@requirement("S1.store.survive", "S1.x.restart.working", "S1.store.fields", "S1.x.queue.derived")
async def test_after_a_kill_every_task_is_there_and_continues_in_order(start: Start, gateway: ScriptedGateway) -> None:
    model = Model(gateway)
    gate = model.gate("it")
    server = start(**reaching(gateway))
    async with caller(server) as client:
        kept = [await send(client, "hello", metadata={"n": 1}), await send(client, "ask what?")]
        working = await send(client, "hold it", contextId="c", at_once=True)
        await gate.reached()
        queued = [await send(client, f"line {n}", contextId="c", at_once=True) for n in range(3)]
        before = [await get(client, task) for task in (*kept, *queued)]
    server.kill()
    model.received.clear()
    again = model.gate("it")
    server = start(**reaching(gateway))
    async with caller(server) as client:
        await again.reached()
        after = [await get(client, task) for task in (*kept, *queued)]
        assert after == before
        assert [state(task) for task in after] == [COMPLETED, INPUT_REQUIRED, *[SUBMITTED] * 3]
        assert state(await get(client, working)) == WORKING
        again.open()
        rest = [await ended(client, task) for task in (working, *queued)]
        assert [state(task) for task in rest] == [COMPLETED] * 4
        assert model.received == ["hold it", "line 0", "line 1", "line 2"]
        assert state(await send(client, "that", taskId=kept[1]["id"])) == COMPLETED
    assert server.stop() == 0


@requirement("S1.x.restart.working")
async def test_a_task_with_side_effects_fails_after_a_kill_and_keeps_its_artifacts(
    start: Start, gateway: ScriptedGateway
) -> None:
    model = Model(gateway)
    gate = model.gate("it")
    server = start(**reaching(gateway))
    async with caller(server) as client:
        task = await send(client, "add it", contextId="c", at_once=True)
        await gate.reached()
    server.kill()
    server = start(**reaching(gateway))
    async with caller(server) as client:
        broken = await ended(client, task)
        assert (state(broken), broken["metadata"]["reason"]) == (FAILED, "interrupted")
        assert text_of(broken)
        assert [text_of(one) for one in broken["artifacts"]] == ["kept"]
        assert state(await send(client, "and on", contextId="c")) == COMPLETED
        retried = await client.post(f"/api/runs/{task['id']}/retry")
        assert retried.status_code in (200, 201, 202), retried.text


@requirement("S1.x.stream.durable", "S1.generation", "S1.stream.subscribe")
async def test_a_stream_cut_off_by_a_kill_resumes_on_the_next_server(start: Start, gateway: ScriptedGateway) -> None:
    model = Model(gateway)
    gate = model.gate("it")
    server = start(**reaching(gateway))
    async with caller(server) as client, stream_send(client, "hold it") as stream:
        seen = [await stream.next(), await stream.next()]
        await gate.reached()
        server.kill()
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await stream.rest()
    assert summary(seen) == [SUBMITTED, WORKING]
    task = seen[0].body
    again = model.gate("it")
    server = start(**reaching(gateway))
    async with caller(server) as client, subscribe(client, task, last=seen[-1].id) as stream:
        first = await stream.next()
        assert (first.kind, state(first.body)) == ("task", WORKING)
        await again.reached()
        again.open()
        rest = await stream.rest()
        # Rescued and started again: to the client, the task never stopped working.
        assert summary(rest) == [WORKING, WORKING, "result", COMPLETED]
        assert [frame.id for frame in (*seen, *rest)] == [1, 2, 3, 4, 5, 6]
        assert same(task, [*seen[1:], *rest], await get(client, task))


@requirement("S1.stream.subscribe", "S1.x.stream.durable", "P.engine.two")
async def test_clients_of_two_servers_on_one_store_see_the_same_in_the_same_order(
    start: Start, gateway: ScriptedGateway, postgres_url: str
) -> None:
    model = Model(gateway)
    server = start(CARREL_STORAGE__URL=postgres_url, **reaching(gateway))
    other = start("--role", "api", CARREL_STORAGE__URL=postgres_url, **reaching(gateway))

    async def follow(client: httpx.AsyncClient, task: Json, begun: asyncio.Semaphore) -> list[Frame]:
        async with subscribe(client, task, last=0) as stream:
            await stream.next()
            begun.release()
            frames: list[Frame] = await stream.rest()
            return frames

    async def talk(near: httpx.AsyncClient, far: httpx.AsyncClient, name: str) -> None:
        gate, begun = model.gate(name), asyncio.Semaphore(0)
        task = await send(far, f"add {name}", at_once=True)
        async with asyncio.TaskGroup() as group:
            readers = [group.create_task(follow(client, task, begun)) for client in (near, far, far)]
            await gate.reached()
            readers.append(group.create_task(follow(far, task, begun)))
            for _ in readers:
                await begun.acquire()
            gate.open()
        first, *others = [reader.result() for reader in readers]
        assert summary(first) == [SUBMITTED, WORKING, "a", "result", COMPLETED]
        assert [frame.id for frame in first] == [1, 2, 3, 4, 5]
        assert others == [first] * 3
        assert await get(near, task) == await get(far, task)

    async with caller(server) as near, caller(other) as far:
        await asyncio.gather(*(talk(near, far, f"n{n}") for n in range(6)))
        assert (await ask(near, "ListTasks"))["totalSize"] == (await ask(far, "ListTasks"))["totalSize"] == 6


@requirement("S1.x.stuck", "S1.x.restart.working", "S1.x.stream.durable")
async def test_after_a_kill_another_server_finishes_the_task_and_the_stream_shows_it(
    start: Start, gateway: ScriptedGateway, postgres_url: str
) -> None:
    model = Model(gateway)
    gate = model.gate("it")
    shared = {"CARREL_STORAGE__URL": postgres_url, "CARREL_RUNS__LEASE_SECONDS": "2", **reaching(gateway)}
    doomed = start(**shared)
    async with caller(doomed) as client:
        task = await send(client, "hold it", contextId="c", at_once=True)
        await gate.reached()
    server = start(**shared)
    async with caller(server) as client:
        behind = await send(client, "behind", contextId="c", at_once=True)
        async with subscribe(client, task) as stream:
            first = await stream.next()
            assert state(first.body) == WORKING
            again = model.gate("it")
            doomed.kill()
            await again.reached()
            again.open()
            rest = await stream.rest()
        assert summary(rest) == [WORKING, WORKING, "result", COMPLETED]
        assert same(first.body, rest, await get(client, task))
        assert state(await ended(client, behind)) == COMPLETED
