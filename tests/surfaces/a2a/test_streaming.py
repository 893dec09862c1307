"""Streams of a task: the task first, then every change in order, the same for everybody, and nothing lost between."""

import asyncio

import httpx
import pytest

from carrel.runs import Claim, Completed, run_by_id
from carrel.surfaces.a2a.task_json import Detail, task_json
from carrel.surfaces.http import streaming as framing
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.by_hand import add, begin, end
from tests.surfaces.a2a.speaking import (
    CANCELED,
    COMPLETED,
    INPUT_REQUIRED,
    NEW,
    SUBMITTED,
    WORKING,
    Stream,
    applied,
    ask,
    call,
    doing,
    get,
    message,
    refusal,
    said,
    send,
    sending,
    state,
    streaming,
    subscribing,
    told,
)

pytestmark = pytest.mark.anyio


@requirement("S1.stream.send", "S1.generation")
async def test_a_stream_tells_of_a_task_from_its_beginning_to_its_end(on_either: httpx.AsyncClient) -> None:
    async with sending(on_either, "hello", contextId="c") as stream:
        frames = await stream.rest()
    assert [frame.kind for frame in frames] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert told(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert [frame.id for frame in frames] == [1, 2, 3, 4]
    task = frames[0].body
    assert all((frame.body["taskId"], frame.body["contextId"]) == (task["id"], "c") for frame in frames[1:])
    assert [frame.body["metadata"]["generation"] for frame in frames] == [1, 2, 3, 4]
    assert (said(frames[2].body["artifact"]), frames[2].body["lastChunk"]) == ("echo: hello", True)
    assert said(frames[3].body) == "echo: hello"
    done = await get(on_either, task)
    followed = applied(task, frames[1:])
    assert [followed[name] for name in ("status", "artifacts")] == [done[name] for name in ("status", "artifacts")]


@requirement("S1.stream.subscribe")
async def test_every_stream_of_a_task_sees_the_same_and_one_that_leaves_disturbs_nobody(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    steps = [("hold", "first"), ("artifact_add", {"text": "a", "artifactId": "a"}), ("hold", "second")]
    steps += [("artifact_add", {"text": "b", "artifactId": "a", "append": True})]
    task = await send(on_either, doing(*steps), at_once=True)
    agent = either_server.agent
    await agent.reached("first")
    async with subscribing(on_either, task) as one, subscribing(on_either, task) as other:
        firsts = [await one.next(), await other.next()]
        assert firsts[0] == firsts[1]
        assert state(firsts[0].body) == WORKING
        async with subscribing(on_either, task) as brief:
            await brief.next()
            agent.release("first")
            assert told([await brief.next()]) == ["a"]
        agent.release("second")
        frames, same = await asyncio.gather(one.rest(), other.rest())
    assert frames == same
    assert told(frames) == ["a", "a", "result", COMPLETED]
    assert [frame.body.get("append", False) for frame in frames] == [False, True, False, False]


@requirement("S1.stream.terminal", "S1.wire.errors")
async def test_an_ended_task_cannot_be_followed_and_an_unknown_one_is_not_found(client: httpx.AsyncClient) -> None:
    done = await send(client, "hello")
    assert refusal(await call(client, "SubscribeToTask", {"id": done["id"]})) == (-32004, "UNSUPPORTED_OPERATION", None)
    assert refusal(await call(client, "SubscribeToTask", {"id": "run_unknown"})) == (-32001, "TASK_NOT_FOUND", None)
    for method in ("POST", "GET"):
        path = "/a2a/main/tasks/{}:subscribe"
        assert (await client.request(method, path.format(done["id"]), headers=NEW)).status_code == 400
        assert (await client.request(method, path.format("run_unknown"), headers=NEW)).status_code == 404


@requirement("S1.x.subscribe.verbs")
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_subscription_over_http_may_be_a_post_or_a_get(
    server: HttpServer, client: httpx.AsyncClient, method: str
) -> None:
    task = await send(client, "hold it", at_once=True)
    await server.agent.reached("it")
    async with client.stream(method, f"/a2a/main/tasks/{task['id']}:subscribe", headers=NEW) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = Stream(response)
        assert (await stream.next()).kind == "task"
        server.agent.release("it")
        assert told(await stream.rest()) == ["result", COMPLETED]


async def test_a_stream_over_http_is_the_same_stream(client: httpx.AsyncClient) -> None:
    async with client.stream("POST", "/a2a/main/message:stream", json={"message": message("hello")}) as response:
        frames = await Stream(response).rest()
    assert told(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert [frame.id for frame in frames] == [1, 2, 3, 4]


@requirement("S1.stream.send")
async def test_characters_that_some_take_for_ends_of_lines_break_no_frame(client: httpx.AsyncClient) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix\r\nseven \u2026 é 💬"
    async with sending(client, text) as stream:
        frames = await stream.rest()
    assert told(frames) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert said(frames[0].body["history"][0]) == text
    assert said(frames[2].body["artifact"]) == f"echo: {text.rpartition(chr(10))[2]}"


@requirement("S1.stream.interrupted")
async def test_a_question_ends_the_stream_and_a_new_one_goes_on_from_there(client: httpx.AsyncClient) -> None:
    async with sending(client, "ask what?") as stream:
        frames = await stream.rest()
    assert told(frames) == [SUBMITTED, WORKING, INPUT_REQUIRED]
    task = frames[0].body
    async with subscribing(client, task) as stream:
        assert state((await stream.next()).body) == INPUT_REQUIRED
        await send(client, "that", taskId=task["id"])
        assert told(await stream.rest()) == [SUBMITTED, WORKING, "result", COMPLETED]


@requirement("S1.generation", "S1.x.stream.durable")
async def test_whoever_comes_back_with_the_last_number_gets_exactly_the_rest(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    parts = [("artifact_add", {"text": str(n), "artifactId": "a", "append": n > 0}) for n in range(4)]
    task = await send(client, doing(("request_input", {"question": "Shall I?"})))
    assert state(task) == INPUT_REQUIRED
    answered = await send(client, doing(*parts, ("hold", "it")), taskId=task["id"], at_once=True)
    await server.agent.reached("it")
    seen = ["", SUBMITTED, WORKING, INPUT_REQUIRED, SUBMITTED, WORKING, "a", "a", "a", "a"]
    now = (await get(client, answered))["metadata"]["generation"]
    assert now == len(seen) - 1
    streams = {}
    for last in range(now + 1):
        async with subscribing(client, task, last) as stream:
            first = await stream.next()
            # Numbered as what its reader has seen: one that is cut off right after it still gets what follows.
            assert (first.kind, first.id, first.body["metadata"]["generation"]) == ("task", last, now)
            streams[last] = [await stream.next() for _ in range(now - last)]
    for last, frames in streams.items():
        assert [frame.id for frame in frames] == list(range(last + 1, now + 1))
        assert told(frames) == seen[last + 1 :]
        assert frames == streams[0][last:]
    async with subscribing(client, task, now + 100) as stream:
        assert (await stream.next()).id == now
        server.agent.release("it")
        assert told(await stream.rest()) == ["result", COMPLETED]


async def test_who_comes_back_to_a_task_that_asks_gets_the_question_and_the_end_of_the_stream(
    client: httpx.AsyncClient,
) -> None:
    task = await send(client, "ask what?")
    async with subscribing(client, task, 1) as stream:
        assert told(await stream.rest()) == [INPUT_REQUIRED, WORKING, INPUT_REQUIRED]


async def test_a_last_number_that_is_none_is_refused(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask what?")
    for last in ("x", "-1", "1.5", "9" * 30):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
        answer = await client.post("/a2a/main", json=body, headers=NEW | {"Last-Event-ID": last})
        assert refusal(answer.json()) == (-32602, "INVALID_PARAMS", "Last-Event-ID")


@requirement("S1.x.stream.durable")
async def test_what_happens_between_reading_the_task_and_following_it_is_not_lost(store_url: str) -> None:
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
                # What is done races the stream's own first look.
                working = group.create_task(work())
                async with subscribing(client, task) as stream:
                    first = await stream.next()
                    await end(db, await working, Completed(reply="all at once"))
                    frames = await stream.rest()
            followed, done = applied(first.body, frames), await get(client, task)
            assert [followed[name] for name in ("status", "artifacts")] == [
                done[name] for name in ("status", "artifacts")
            ]


@requirement("S1.x.stream.durable")
async def test_a_task_as_it_was_shows_nothing_that_came_later(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url, works=False) as server, server.client() as client:
        task, access = await send(client, "hello", at_once=True), await server.access_of()
        held = await begin(server.db)
        await add(server.db, held, "one", "a")
        run = await server.db.read(lambda tx: run_by_id(tx, access, task["id"]))
        assert run is not None
        await add(server.db, held, "two", "a", append=True)
        before = await server.db.read(lambda tx: task_json(tx, access, run, Detail()))
        assert [said(one) for one in before["artifacts"]] == ["one"]
        assert [said(one) for one in (await get(client, task))["artifacts"]] == ["onetwo"]


@requirement("S1.stream.subscribe")
async def test_a_reader_that_does_not_read_is_cut_off_and_holds_nobody_up(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "STREAM_SEND_SECONDS_MAX", 1.0)
    async with open_http_server(sqlite_url, works=False) as server, server.client() as client:
        task = await send(client, "hello", at_once=True)
        held = await begin(server.db)
        async with subscribing(client, task) as lazy, subscribing(client, task) as eager:
            await lazy.next()
            async with asyncio.TaskGroup() as group:
                # It reads all the while, as one does who is not to be taken for the other.
                reading = group.create_task(eager.rest())
                for n in range(20):
                    await add(server.db, held, "x" * 1_000_000, "a", append=n > 0)
                await end(server.db, held, Completed(reply="done"))
            assert told(reading.result()) == [WORKING, *["a"] * 20, "result", COMPLETED]
            sending_on = {one for one in asyncio.all_tasks() if "_send_all" in str(one.get_coro())}
            if sending_on:
                await asyncio.wait(sending_on, timeout=10)
            with pytest.raises(httpx.RemoteProtocolError):
                await lazy.rest()


async def test_a_stream_ends_when_the_server_closes(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as client:
        task = await send(client, "hold it", at_once=True)
        await server.agent.reached("it")
        async with subscribing(client, task) as stream:
            assert state((await stream.next()).body) == WORKING
            server.house.closing.set()
            assert await stream.rest() == []
        server.agent.release("it")


async def test_a_cancelled_task_ends_its_streams(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask what?")
    async with subscribing(client, task) as stream:
        await stream.next()
        await ask(client, "CancelTask", id=task["id"])
        assert told(await stream.rest()) == [CANCELED]


async def test_the_old_version_marks_the_last_frame_of_a_stream_as_final(client: httpx.AsyncClient) -> None:
    for text, last in (("hello", "completed"), ("ask what?", "input-required")):
        old = {"messageId": f"old-{text}", "role": "user", "parts": [{"kind": "text", "text": text}]}
        async with streaming(client, "message/stream", {"message": old}, version="0.3") as stream:
            frames = await stream.rest()
        assert [frame.kind for frame in frames][:2] == ["task", "status-update"]
        finals = [frame.body["final"] for frame in frames if frame.kind == "status-update"]
        assert finals == [False] * (len(finals) - 1) + [True]
        assert frames[-1].body["status"]["state"] == last
