"""Streams of a task: the task first, then every change in order, the same for all clients, without gaps."""

import asyncio
import re

import httpx
import pytest

from carrel.kernel.limits import STREAM_SEND_SECONDS_MAX
from carrel.runs import Claim, Completed, run_by_id
from carrel.surfaces.a2a.task_json import Detail, task_json
from tests.harness.elapsing import Elapsing
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    CANCELED,
    COMPLETED,
    INPUT_REQUIRED,
    NEW,
    SUBMITTED,
    WORKING,
    Stream,
    agent_steps,
    apply_frames,
    ask,
    call,
    get,
    message,
    open_stream,
    refusal,
    send,
    state,
    stream_send,
    subscribe,
    summary,
    text_of,
)
from tests.surfaces.a2a.manual_turns import add, begin, end


@requirement("S1.stream.send", "S1.generation")
async def test_a_stream_shows_a_task_from_start_to_end(on_either: httpx.AsyncClient) -> None:
    async with stream_send(on_either, "hello", contextId="c") as stream:
        frames = await stream.rest()
    assert [frame.kind for frame in frames] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert summary(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert [frame.id for frame in frames] == [1, 2, 3, 4]
    task = frames[0].body
    assert all((frame.body["taskId"], frame.body["contextId"]) == (task["id"], "c") for frame in frames[1:])
    assert [frame.body["metadata"]["generation"] for frame in frames] == [1, 2, 3, 4]
    assert (text_of(frames[2].body["artifact"]), frames[2].body["lastChunk"]) == ("echo: hello", True)
    assert text_of(frames[3].body) == "echo: hello"
    done = await get(on_either, task)
    followed = apply_frames(task, frames[1:])
    assert [followed[name] for name in ("status", "artifacts")] == [done[name] for name in ("status", "artifacts")]


@requirement("S1.stream.subscribe")
async def test_every_stream_of_a_task_is_the_same_and_closing_one_affects_no_other(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    steps = [("hold", "first"), ("artifact_add", {"text": "a", "artifactId": "a"}), ("hold", "second")]
    steps += [("artifact_add", {"text": "b", "artifactId": "a", "append": True})]
    task = await send(on_either, agent_steps(*steps), at_once=True)
    agent = either_server.agent
    await agent.reached("first")
    async with subscribe(on_either, task) as one, subscribe(on_either, task) as other:
        firsts = [await one.next(), await other.next()]
        assert firsts[0] == firsts[1]
        assert state(firsts[0].body) == WORKING
        async with subscribe(on_either, task) as brief:
            await brief.next()
            agent.release("first")
            assert summary([await brief.next()]) == ["a"]
        agent.release("second")
        frames, same = await asyncio.gather(one.rest(), other.rest())
    assert frames == same
    assert summary(frames) == ["a", "a", "result", COMPLETED]
    assert [frame.body.get("append", False) for frame in frames] == [False, True, False, False]


@requirement("S1.stream.terminal", "S1.wire.errors")
async def test_an_ended_task_cannot_be_subscribed_to_and_an_unknown_one_is_not_found(client: httpx.AsyncClient) -> None:
    done = await send(client, "hello")
    assert refusal(await call(client, "SubscribeToTask", {"id": done["id"]})) == (-32004, "UNSUPPORTED_OPERATION", None)
    assert refusal(await call(client, "SubscribeToTask", {"id": "run_unknown"})) == (-32001, "TASK_NOT_FOUND", None)
    for method in ("POST", "GET"):
        path = "/a2a/main/tasks/{}:subscribe"
        assert (await client.request(method, path.format(done["id"]), headers=NEW)).status_code == 400
        assert (await client.request(method, path.format("run_unknown"), headers=NEW)).status_code == 404


@requirement("S1.x.subscribe.verbs")
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_subscription_over_http_can_be_a_post_or_a_get(
    server: HttpServer, client: httpx.AsyncClient, method: str
) -> None:
    task = await send(client, "hold it", at_once=True)
    await server.agent.reached("it")
    async with client.stream(method, f"/a2a/main/tasks/{task['id']}:subscribe", headers=NEW) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = Stream(response)
        assert (await stream.next()).kind == "task"
        server.agent.release("it")
        assert summary(await stream.rest()) == ["result", COMPLETED]


async def test_a_stream_over_http_is_the_same_stream(client: httpx.AsyncClient) -> None:
    async with client.stream("POST", "/a2a/main/message:stream", json={"message": message("hello")}) as response:
        frames = await Stream(response).rest()
    assert summary(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert [frame.id for frame in frames] == [1, 2, 3, 4]


@requirement("S1.stream.send")
async def test_unusual_line_separators_break_no_frame(client: httpx.AsyncClient) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix\r\nseven \u2026 é 💬"
    async with stream_send(client, text) as stream:
        frames = await stream.rest()
    assert summary(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert text_of(frames[0].body["history"][0]) == text
    assert text_of(frames[2].body["artifact"]) == f"echo: {text.rpartition(chr(10))[2]}"


@requirement("S1.stream.interrupted")
async def test_a_question_ends_the_stream_and_a_new_one_continues(client: httpx.AsyncClient) -> None:
    async with stream_send(client, "ask what?") as stream:
        frames = await stream.rest()
    assert summary(frames) == [SUBMITTED, WORKING, INPUT_REQUIRED]
    task = frames[0].body
    async with subscribe(client, task) as stream:
        assert state((await stream.next()).body) == INPUT_REQUIRED
        await send(client, "that", taskId=task["id"])
        assert summary(await stream.rest()) == [SUBMITTED, WORKING, "result", COMPLETED]


@requirement("S1.generation", "S1.x.stream.durable")
async def test_a_client_that_resumes_with_its_last_event_id_gets_exactly_the_rest(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    parts = [("artifact_add", {"text": str(n), "artifactId": "a", "append": n > 0}) for n in range(4)]
    task = await send(client, agent_steps(("request_input", {"question": "Shall I?"})))
    assert state(task) == INPUT_REQUIRED
    answered = await send(client, agent_steps(*parts, ("hold", "it")), taskId=task["id"], at_once=True)
    await server.agent.reached("it")
    seen = ["", SUBMITTED, WORKING, INPUT_REQUIRED, SUBMITTED, WORKING, "a", "a", "a", "a"]
    now = (await get(client, answered))["metadata"]["generation"]
    assert now == len(seen) - 1
    streams = {}
    for last in range(now + 1):
        async with subscribe(client, task, last) as stream:
            first = await stream.next()
            # Numbered by what the client has seen: if it is cut off right here, it still gets the next change.
            assert (first.kind, first.id, first.body["metadata"]["generation"]) == ("task", last, now)
            streams[last] = [await stream.next() for _ in range(now - last)]
    for last, frames in streams.items():
        assert [frame.id for frame in frames] == list(range(last + 1, now + 1))
        assert summary(frames) == seen[last + 1 :]
        assert frames == streams[0][last:]
    async with subscribe(client, task, now + 100) as stream:
        assert (await stream.next()).id == now
        server.agent.release("it")
        assert summary(await stream.rest()) == ["result", COMPLETED]


async def test_resuming_at_a_waiting_task_returns_the_question_and_ends(
    client: httpx.AsyncClient,
) -> None:
    task = await send(client, "ask what?")
    async with subscribe(client, task, 1) as stream:
        assert summary(await stream.rest()) == [INPUT_REQUIRED, WORKING, INPUT_REQUIRED]


async def test_an_invalid_last_event_id_is_refused(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask what?")
    for last in ("x", "-1", "1.5", "9" * 30):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
        answer = await client.post("/a2a/main", json=body, headers=NEW | {"Last-Event-ID": last})
        assert refusal(answer.json()) == (-32602, "INVALID_PARAMS", "Last-Event-ID")


@requirement("S1.x.stream.durable")
async def test_changes_between_reading_the_task_and_following_it_are_not_lost(store_url: str) -> None:
    async with open_http_server(store_url, works=False) as server, server.client() as client:
        db = server.db

        async def work() -> Claim:
            held = await begin(db)
            for n in range(10):
                await add(db, held, str(n), "a", append=n > 0)
            return held

        for at in range(12):
            task = await send(client, f"number {at}", at_once=True)
            async with asyncio.TaskGroup() as group:
                # The change races the stream's first read.
                working = group.create_task(work())
                async with subscribe(client, task) as stream:
                    first = await stream.next()
                    await end(db, await working, Completed(reply="all at once"))
                    frames = await stream.rest()
            followed, done = apply_frames(first.body, frames), await get(client, task)
            assert [followed[name] for name in ("status", "artifacts")] == [
                done[name] for name in ("status", "artifacts")
            ]


@requirement("S1.x.stream.durable")
async def test_a_task_read_at_a_change_shows_nothing_later(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as client:
        task, access = await send(client, "hello", at_once=True), await server.access_of()
        held = await begin(server.db)
        await add(server.db, held, "one", "a")
        run = await server.db.read(lambda tx: run_by_id(tx, access, task["id"]))
        assert run is not None
        await add(server.db, held, "two", "a", append=True)
        before = await server.db.read(lambda tx: task_json(tx, access, run, Detail()))
        assert [text_of(one) for one in before["artifacts"]] == ["one"]
        assert [text_of(one) for one in (await get(client, task))["artifacts"]] == ["onetwo"]


@requirement("S1.stream.subscribe")
async def test_a_client_that_does_not_read_is_cut_off_and_blocks_nobody(surface_url: str, elapsing: Elapsing) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as client:
        task = await send(client, "hello", at_once=True)
        held = await begin(server.db)
        async with subscribe(client, task) as lazy, subscribe(client, task) as eager:
            await lazy.next()
            async with asyncio.TaskGroup() as group:
                # This client keeps reading, so that it is not cut off too.
                reading = group.create_task(eager.rest())
                for n in range(20):
                    await add(server.db, held, "x" * 1_000_000, "a", append=n > 0)
                await end(server.db, held, Completed(reply="done"))
            assert summary(reading.result()) == [WORKING, *["a"] * 20, "result", COMPLETED]
            await elapsing.pass_by(2 * STREAM_SEND_SECONDS_MAX, lambda: client.get("/healthz"))
            with pytest.raises(httpx.RemoteProtocolError):
                await lazy.rest()


async def test_a_stream_ends_when_the_server_stops(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, server.client() as client:
        task = await send(client, "hold it", at_once=True)
        await server.agent.reached("it")
        async with subscribe(client, task) as stream:
            assert state((await stream.next()).body) == WORKING
            server.services.closing.set()
            assert await stream.rest() == []
        server.agent.release("it")


async def test_a_cancelled_task_ends_its_streams(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask what?")
    async with subscribe(client, task) as stream:
        await stream.next()
        await ask(client, "CancelTask", id=task["id"])
        assert summary(await stream.rest()) == [CANCELED]


async def test_a2a_0_3_marks_the_last_frame_of_a_stream_as_final(client: httpx.AsyncClient) -> None:
    for text, last in (("hello", "completed"), ("ask what?", "input-required")):
        old = {"messageId": f"old-{text}", "role": "user", "parts": [{"kind": "text", "text": text}]}
        async with open_stream(client, "message/stream", {"message": old}, version="0.3") as stream:
            frames = await stream.rest()
        assert [frame.kind for frame in frames][:2] == ["task", "status-update"]
        finals = [frame.body["final"] for frame in frames if frame.kind == "status-update"]
        assert finals == [False] * (len(finals) - 1) + [True]
        assert frames[-1].body["status"]["state"] == last


async def test_a_failed_attempt_is_told_in_the_status_of_a_task_that_goes_on(on_either: httpx.AsyncClient) -> None:
    async with stream_send(on_either, "flaky") as stream:
        frames = [await stream.next() for _ in range(3)]
        assert summary(frames) == [SUBMITTED, WORKING, WORKING]
    told = text_of(frames[2].body)
    assert re.fullmatch(r"Attempt 1 of 5 failed: Told to flaky\. Next try in \d+ s\.", told)
