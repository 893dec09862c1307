"""Property: for any sequence of events, a stream applied to its first task equals the task that is read.

The test takes the turns itself, so that every step is a step of the example. After each step every task is read, and
every stream must arrive at exactly what was read, by changes numbered without gaps, wherever it started.
"""

import asyncio
import itertools
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from carrel.runs import Claim, Completed, Failed, NeedsInput, cancel
from carrel.runs.leases import rescue_lost
from carrel.storage import Tx
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    AUTH_REQUIRED,
    ENDED,
    INPUT_REQUIRED,
    SETTLED,
    SUBMITTED,
    WORKING,
    Frame,
    Json,
    Stream,
    apply_frames,
    ask,
    get,
    send,
    state,
    stream_send,
    subscribe,
)
from tests.surfaces.a2a.manual_turns import add, begin, end

# Always the same examples, and no shrinking, because every step takes a while.
SEEDED: Any = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
    "phases": [Phase.generate],
}
# What can happen in a turn; repeated entries are more likely.
IN_A_TURN = ("add", "add", "add", "complete", "silence", "fail", "decline", "ask", "ask", "auth", "lose")
CHOSEN = st.lists(st.integers(0, 1_000_000), min_size=8, max_size=40)
_contexts = itertools.count(1)


class Followed(NamedTuple):
    """One stream of the example: where it started, its first frame, and its other frames."""

    after: int
    first: Frame
    rest: "asyncio.Task[list[Frame]]"


class Example:
    """One context and everything that happens in it."""

    def __init__(self, server: HttpServer, client: httpx.AsyncClient, stack: AsyncExitStack) -> None:
        self._db, self._client = server.db, client
        self._stack = stack
        self._context = f"c-{next(_contexts)}"
        self._tasks: list[Json] = []
        self._held: Claim | None = None
        self.seen: dict[tuple[str, int], Json] = {}
        self.streams: list[Followed] = []
        self.done: list[str] = []

    async def step(self, number: int) -> None:
        """Take one possible step, then read every task."""
        names = self._possible()
        name, which = names[number % len(names)], number // len(names)
        self.done.append(name)
        live = [task for task in self._tasks if state(task) not in ENDED]
        match name:
            case "send":
                await send(self._client, f"line {which}", contextId=self._context, at_once=True)
            case "stream":
                await self._open(stream_send(self._client, f"line {which}", contextId=self._context), None)
            case "answer":
                waiting = [task for task in live if "REQUIRED" in state(task)]
                await send(self._client, f"that {which}", taskId=waiting[which % len(waiting)]["id"], at_once=True)
            case "follow":
                await self._open(subscribe(self._client, live[which % len(live)]), None)
            case "resume":
                task = live[which % len(live)]
                last = which % (task["metadata"]["generation"] + 1)
                await self._open(subscribe(self._client, task, last), last)
            case "cancel":
                await self._cancel(live[which % len(live)]["id"])
            case "begin":
                self._held = await begin(self._db)
            case _:
                await self._turn(name, which)
        await self._look()

    def _possible(self) -> list[str]:
        states = {state(task) for task in self._tasks}
        names = ["send", "stream"] if len(self._tasks) < 3 else []
        names += ["follow", "resume", "resume", "cancel"] if states - set(ENDED) else []
        names += ["answer"] * 3 if states & {INPUT_REQUIRED, AUTH_REQUIRED} else []
        if self._held is not None:
            names += IN_A_TURN
            names += ["append"] * 3 if self._added() else []
        elif states & {SUBMITTED, WORKING}:
            names += ["begin"] * 4
        return names or ["nothing"]

    def _added(self) -> list[str]:
        own = next(task for task in self._tasks if self._held is not None and task["id"] == self._held.id)
        return [one["artifactId"] for one in own.get("artifacts", [])]

    async def _turn(self, name: str, which: int) -> None:
        outcomes: dict[str, Any] = {
            "complete": Completed(reply=f"reply {which}"),
            "silence": Completed(reply=""),
            "fail": Failed(code="broken", message=f"failed {which}"),
            "decline": Failed(code="rejected", message="no", reason="rejected"),
            "ask": NeedsInput(question=f"question {which}"),
            "auth": NeedsInput(question="key?", waiting_for="auth"),
        }
        if self._held is None:
            return
        held, present = self._held, self._added()
        if name == "add":
            await add(self._db, held, f"part {which}", f"a-{len(present)}")
        elif name == "append":
            await add(self._db, held, f"part {which}", present[which % len(present)], append=True)
        elif name == "lose":
            await self._db.write(lambda tx: _lose(tx, held))
            self._held = None
        else:
            await end(self._db, held, outcomes[name])
            self._held = None

    async def finish(self) -> None:
        """End every task that has not ended, and so every stream."""
        await self._look()
        for task in self._tasks:
            if state(task) not in ENDED:
                await self._cancel(task["id"])
        await self._look()
        assert [await get(self._client, task) for task in self._tasks] == self._tasks

    async def _cancel(self, task_id: str) -> None:
        if self._held is None or self._held.id != task_id:
            await ask(self._client, "CancelTask", id=task_id)
            return
        held, self._held = self._held, None
        await self._db.write(lambda tx: cancel(tx, held.access, task_id, "stopped"))
        # Asked to stop but not stopped yet, so the task has not changed.
        await self._look()
        await end(self._db, held, Completed(reply="too late"))

    async def _look(self) -> None:
        page = await ask(self._client, "ListTasks", contextId=self._context, includeArtifacts=True)
        self._tasks = page["tasks"]
        for task in self._tasks:
            known = self.seen.setdefault((task["id"], task["metadata"]["generation"]), task)
            assert shown(known) == shown(task), "a task changed without a change"
            assert ("queuePosition" in task["metadata"]) == (state(task) == SUBMITTED)

    async def _open(self, opening: Any, last: int | None) -> Frame:
        stream: Stream = await self._stack.enter_async_context(opening)
        first = await stream.next()
        after = first.body["metadata"]["generation"] if last is None else last
        self.streams.append(Followed(after, first, asyncio.create_task(stream.rest())))
        return first


def shown(task: Json) -> list[Any]:
    """Return the part of a task that its changes cover."""
    return [task["status"], task.get("artifacts", []), task["metadata"]["generation"]]


def _lose(tx: Tx, held: Claim) -> None:
    """Lose the worker: its run returns to its lane."""
    tx.run("UPDATE runs SET lease_until = 0 WHERE id = :id", id=held.id)
    assert rescue_lost(tx) == 1


async def check(example: Example) -> None:
    """Check that every stream matches what was read and every other stream, without gaps."""
    seen: dict[tuple[str, int], Frame] = {}
    for stream in example.streams:
        async with asyncio.timeout(15):
            frames = await stream.rest
        task = stream.first.body
        assert (stream.first.kind, stream.first.id) == ("task", stream.after)
        assert [frame.id for frame in frames] == [stream.after + n for n in range(1, len(frames) + 1)]
        began = task["metadata"]["generation"]
        for frame in frames:
            assert seen.setdefault((task["id"], frame.id), frame) == frame
        # Applying the later changes to the first task gives, at each change, the task that was read then.
        for upto in range(began, stream.after + len(frames) + 1):
            known = example.seen.get((task["id"], upto))
            if known is not None:
                behind = [frame for frame in frames if began < frame.id <= upto]
                assert shown(apply_frames(task, behind)) == shown(known)
        settled = [frame for frame in frames if frame.kind == "statusUpdate" and state(frame.body) in SETTLED]
        if frames:
            assert (settled[-1], frames[-1].id >= began) == (frames[-1], True), "a stream ends at the last change"
            assert all(frame.id < began or frame is frames[-1] for frame in settled), "and not later"


async def play(server: HttpServer, numbers: list[int]) -> None:
    """Run one example."""
    async with AsyncExitStack() as stack:
        example = Example(server, await stack.enter_async_context(server.client()), stack)
        try:
            for number in numbers:
                await example.step(number)
        finally:
            note(" ".join(example.done))
            await example.finish()
        await check(example)


@pytest.fixture
async def idle_server(surface_url: str) -> Any:
    """A server without workers."""
    async with open_http_server(surface_url, works=False) as opened:
        yield opened


@pytest.fixture
async def idle_server_on_postgres(postgres_url: str) -> Any:
    """The same on PostgreSQL."""
    async with open_http_server(postgres_url, works=False) as opened:
        yield opened


@requirement("S1.generation", "S1.stream.subscribe", "S1.stream.send", "S1.stream.interrupted", "S1.x.stream.durable")
@settings(max_examples=24, **SEEDED)
@given(numbers=CHOSEN)
async def test_a_stream_applied_to_its_first_task_equals_the_task(idle_server: HttpServer, numbers: list[int]) -> None:
    await play(idle_server, numbers)


@requirement("S1.generation", "S1.stream.subscribe")
@settings(max_examples=5, **SEEDED)
@given(numbers=CHOSEN)
async def test_the_same_holds_on_postgresql(idle_server_on_postgres: HttpServer, numbers: list[int]) -> None:
    await play(idle_server_on_postgres, numbers)
