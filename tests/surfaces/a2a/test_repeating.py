"""The same message twice is the same task: a client may retry after a lost response, and nothing runs twice."""

import asyncio

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    CANCELED,
    COMPLETED,
    INPUT_REQUIRED,
    ask,
    call,
    get,
    message,
    refusal,
    send,
    state,
    stream_send,
    summary,
    text_of,
)


@requirement("S1.x.idempotent")
async def test_a_repeated_message_is_the_same_task_and_runs_once(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    first = await send(on_either, "hello", messageId="m-same", contextId="c-1")
    assert await send(on_either, "hello", messageId="m-same", contextId="c-1") == first
    assert await send(on_either, "hello", messageId="m-same") == first
    assert len(either_server.agent.bodies) == 1
    assert (await ask(on_either, "ListTasks"))["totalSize"] == 1


@requirement("S1.x.idempotent", "S1.x.claim.race")
async def test_the_same_message_many_times_at_once_is_one_task(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    sent = [send(on_either, "hello", messageId="m-same", at_once=n % 2 == 0) for n in range(20)]
    assert len({task["id"] for task in await asyncio.gather(*sent)}) == 1
    assert text_of(await send(on_either, "hello", messageId="m-same")) == "echo: hello"
    assert len(either_server.agent.bodies) == 1


@requirement("S1.x.idempotent", "S1.stream.send")
async def test_a_repeated_streaming_message_continues_the_stream_of_its_task(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    for text, last in (("hello", COMPLETED), ("ask what?", INPUT_REQUIRED)):
        task = await send(client, text, messageId=f"m-{text}")
        async with stream_send(client, text, messageId=f"m-{text}") as stream:
            (only,) = await stream.rest()
        assert (only.kind, only.body["id"], state(only.body)) == ("task", task["id"], last)
    working = await send(client, "hold it", messageId="m-held", at_once=True)
    await server.agent.reached("it")
    async with stream_send(client, "hold it", messageId="m-held") as stream:
        assert (await stream.next()).body["id"] == working["id"]
        server.agent.release("it")
        assert summary(await stream.rest()) == ["result", COMPLETED]


@requirement("S1.x.idempotent")
async def test_the_same_id_in_another_context_or_to_another_agent_is_another_message(
    on_either: httpx.AsyncClient,
) -> None:
    await on_either.post("/api/agents", json={"id": "writer"})
    tasks = [
        await send(on_either, "hello", messageId="m-same", contextId="c-1"),
        await send(on_either, "hello", messageId="m-same", contextId="c-2"),
        await send(on_either, "hello", messageId="m-same", agent="writer"),
    ]
    assert len({task["id"] for task in tasks}) == 3
    assert (await send(on_either, "hello", messageId="m-same", contextId="c-2"))["id"] == tasks[1]["id"]
    assert (await send(on_either, "hello", messageId="m-same"))["id"] == tasks[0]["id"]


@requirement("S1.x.idempotent", "S1.x.owner")
async def test_another_callers_message_with_the_same_id_is_another_message(
    alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    mine = await send(alice, "hello", messageId="m-same", contextId="c-1")
    theirs = await send(bob, "hello", messageId="m-same", contextId="c-1")
    assert mine["id"] != theirs["id"]


@requirement("S1.x.idempotent")
async def test_the_id_can_be_reused_after_answering_or_cancelling_the_task(client: httpx.AsyncClient) -> None:
    asked = await send(client, "ask what?", messageId="m-asked")
    assert (await send(client, "ask what?", messageId="m-asked"))["id"] == asked["id"]
    await send(client, "that", messageId="m-answer", taskId=asked["id"])
    assert (await send(client, "ask what?", messageId="m-asked"))["id"] != asked["id"]
    stopped = await send(client, "ask when?", messageId="m-stopped")
    assert state(await ask(client, "CancelTask", id=stopped["id"])) == CANCELED
    again = await send(client, "ask when?", messageId="m-stopped")
    assert (again["id"] != stopped["id"], state(again)) == (True, INPUT_REQUIRED)
    assert (await send(client, "ask when?", messageId="m-stopped"))["id"] == again["id"]


@requirement("S1.x.idempotent")
async def test_another_users_answer_does_not_turn_a_repetition_into_a_new_message(
    alice: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    asked = await send(alice, "ask what?", messageId="m-asked")
    answered = await client.post(f"/api/runs/{asked['id']}/answer", json={"text": "that"})
    assert answered.status_code == 202, answered.text
    assert (await send(alice, "ask what?", messageId="m-asked"))["id"] == asked["id"]


@requirement("S1.x.idempotent", "S1.send.continue")
async def test_simultaneous_answers_are_each_accepted_once_or_refused(on_either: httpx.AsyncClient) -> None:
    asked = await send(on_either, "ask what?")
    same = {"message": message("that", taskId=asked["id"])}
    answers = await asyncio.gather(*(call(on_either, "SendMessage", same) for _ in range(8)))
    assert {answer["result"]["task"]["id"] for answer in answers} == {asked["id"]}
    assert [text_of(one) for one in (await get(on_either, asked))["history"]].count("that") == 1
    asked = await send(on_either, "ask what?")
    others = [{"message": message(f"that {n}", taskId=asked["id"])} for n in range(8)]
    answers = await asyncio.gather(*(call(on_either, "SendMessage", other) for other in others))
    taken = [answer for answer in answers if "result" in answer]
    assert len(taken) == 1
    assert {refusal(answer)[0] for answer in answers if "error" in answer} == {-32004}


@requirement("S1.x.idempotent", "S1.send.continue")
async def test_a_repeated_answer_counts_once(either_server: HttpServer, on_either: httpx.AsyncClient) -> None:
    asked = await send(on_either, "ask what?")
    answer = message("that", taskId=asked["id"])
    first = (await ask(on_either, "SendMessage", message=answer))["task"]
    again = (await ask(on_either, "SendMessage", message=answer))["task"]
    assert (state(first), again) == (COMPLETED, first)
    assert len(either_server.agent.bodies) == 2
    assert [text_of(one) for one in (await get(on_either, asked))["history"]].count("that") == 1
    changed = answer | {"parts": [{"text": "something else"}]}
    assert refusal(await call(on_either, "SendMessage", {"message": changed}))[0] == -32004
