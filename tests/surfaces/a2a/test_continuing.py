"""Continuing a task: an answer continues a waiting task; any other message with a taskId is refused."""

from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    AUTH_REQUIRED,
    CANCELED,
    COMPLETED,
    INPUT_REQUIRED,
    SUBMITTED,
    WORKING,
    agent_steps,
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

UNSUPPORTED = (-32004, "UNSUPPORTED_OPERATION", None)


async def refused(client: httpx.AsyncClient, **more: Any) -> tuple[int, str, str | None]:
    """Return how a message is refused."""
    return refusal(await call(client, "SendMessage", {"message": message("more", **more)}))


@requirement("S1.send.continue", "S1.send.blocking")
async def test_a_send_returns_at_a_question_and_the_answer_continues_the_same_task(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    task = await send(on_either, "ask which colour?")
    assert (state(task), text_of(task)) == (INPUT_REQUIRED, "which colour?")
    done = await send(on_either, "blue", taskId=task["id"])
    assert (done["id"], done["contextId"]) == (task["id"], task["contextId"])
    assert (state(done), text_of(done)) == (COMPLETED, "echo: blue")
    with_context = await send(on_either, "ask again?", contextId=task["contextId"])
    done = await send(on_either, "yes", taskId=with_context["id"], contextId=task["contextId"])
    assert state(done) == COMPLETED


async def test_the_question_stays_in_the_history_of_the_task(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask which colour?")
    done = await send(client, "blue", taskId=task["id"])
    roles = [(one["role"], text_of(one)) for one in done["history"]]
    assert roles == [
        ("ROLE_USER", "ask which colour?"),
        ("ROLE_AGENT", "which colour?"),
        ("ROLE_USER", "blue"),
        ("ROLE_AGENT", "echo: blue"),
    ]


@requirement("S1.send.continue")
async def test_a_task_that_needs_authorization_says_so_and_continues_with_it(client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(("request_input", {"question": "Your key?", "kind": "auth"})))
    assert (state(task), text_of(task)) == (AUTH_REQUIRED, "Your key?")
    assert state(await send(client, "here", taskId=task["id"])) == COMPLETED


@requirement("S1.send.continue")
async def test_a_queued_or_working_task_accepts_no_message(server: HttpServer) -> None:
    async with server.client() as client:
        working = await send(client, "hold it", contextId="c", at_once=True)
        await server.agent.reached("it")
        queued = await send(client, "behind", contextId="c", at_once=True)
        assert await refused(client, taskId=working["id"]) == UNSUPPORTED
        assert await refused(client, taskId=queued["id"]) == UNSUPPORTED
        behind = await send(client, "more", contextId="c", at_once=True)
        assert behind["metadata"]["queuePosition"] == 2
        server.agent.release("it")


@requirement("S1.send.continue")
async def test_an_ended_task_accepts_no_message_and_an_unknown_one_is_not_found(client: httpx.AsyncClient) -> None:
    ended = await send(client, "hello")
    assert await refused(client, taskId=ended["id"]) == UNSUPPORTED
    assert await refused(client, taskId="run_unknown") == (-32001, "TASK_NOT_FOUND", None)
    asked = await send(client, "ask what?")
    wrong_context = (-32602, "INVALID_PARAMS", "message.contextId")
    assert await refused(client, taskId=asked["id"], contextId="another") == wrong_context
    assert await refused(client, taskId=ended["id"], contextId="another") == wrong_context
    assert state(await get(client, asked)) == INPUT_REQUIRED
    await ask(client, "CancelTask", id=asked["id"])
    assert await refused(client, taskId=asked["id"]) == UNSUPPORTED


@requirement("S1.dispatch.waiting")
async def test_a_question_frees_the_lane_and_its_answer_runs_before_later_messages(server: HttpServer) -> None:
    async with server.client() as client:
        asked = await send(client, "ask what?", contextId="c")
        other = await send(client, "hold it", contextId="c", at_once=True)
        await server.agent.reached("it")
        assert state(await get(client, other)) == WORKING
        before = await send(client, "sent before the answer", contextId="c", at_once=True)
        answered = await send(client, "that", taskId=asked["id"], at_once=True)
        after = await send(client, "sent after the answer", contextId="c", at_once=True)
        assert (state(answered), answered["metadata"]["queuePosition"]) == (SUBMITTED, 2)
        server.agent.release("it")
        ended = [await get_ended(client, task["id"]) for task in (other, before, asked, after)]
        assert [task["status"]["timestamp"] for task in ended] == sorted(task["status"]["timestamp"] for task in ended)
        replies = ["echo: hold it", "echo: sent before the answer", "echo: that", "echo: sent after the answer"]
        assert [text_of(task) for task in ended] == replies


async def get_ended(client: httpx.AsyncClient, run_id: str) -> Any:
    """Return the task once it has ended."""
    (await client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 15})).raise_for_status()
    return await ask(client, "GetTask", id=run_id)


@requirement("S1.stream.interrupted", "S1.send.continue")
async def test_an_answer_can_be_streamed_like_a_first_message(on_either: httpx.AsyncClient) -> None:
    async with stream_send(on_either, "ask what?") as stream:
        frames = await stream.rest()
    assert summary(frames) == [SUBMITTED, WORKING, INPUT_REQUIRED]
    task = frames[0].body
    assert text_of(frames[-1].body) == "what?"
    async with stream_send(on_either, "that", taskId=task["id"]) as stream:
        more = await stream.rest()
    assert summary(more) == [SUBMITTED, WORKING, "result", COMPLETED]
    assert [frame.id for frame in (*frames, *more)] == list(range(1, 8))


async def test_a_waiting_task_can_be_cancelled(client: httpx.AsyncClient) -> None:
    asked = await send(client, "ask what?")
    assert state(await ask(client, "CancelTask", id=asked["id"])) == CANCELED
