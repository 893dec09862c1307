"""Reading a task: its status, its own history, and its metadata."""

import re
from typing import Any

import httpx
from a2a.types import Task
from google.protobuf.json_format import ParseDict

from carrel.runs import NeedsInput
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    FAILED,
    NEW,
    Json,
    agent_steps,
    ask,
    call,
    get,
    message,
    refusal,
    send,
    state,
    task_ids,
    text_of,
)
from tests.surfaces.a2a.manual_turns import begin, end

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
STATES = {
    "hello": "TASK_STATE_COMPLETED",
    "ask what?": "TASK_STATE_INPUT_REQUIRED",
    "fail for good": "TASK_STATE_FAILED",
    agent_steps(("decline", {"reason": "no"})): "TASK_STATE_REJECTED",
    agent_steps(("request_input", {"question": "key?", "kind": "auth"})): "TASK_STATE_AUTH_REQUIRED",
}


@requirement("S1.get", "S1.store.fields", "S1.complete")
async def test_a_task_has_all_its_fields(on_either: httpx.AsyncClient) -> None:
    sent = message("hello", contextId="c", metadata={"n": 1})
    done = (await ask(on_either, "SendMessage", message=sent, metadata={"trace": "t-1"}))["task"]
    task = await get(on_either, done)
    assert task == done
    assert list(task) == ["id", "contextId", "status", "artifacts", "history", "metadata"]
    reply: Json = {"contextId": "c", "taskId": task["id"], "role": "ROLE_AGENT", "parts": [{"text": "echo: hello"}]}
    status = task["status"]
    assert (status["state"], bool(MOMENT.fullmatch(status["timestamp"]))) == (COMPLETED, True)
    assert status["message"] == reply | {"messageId": status["message"]["messageId"]}
    assert task["history"][0] == sent | {"taskId": task["id"]}
    assert task["history"][1] == reply | {"messageId": task["history"][1]["messageId"]}
    own = {name: task["metadata"][name] for name in ("queuedAt", "sessionKey", "generation")}
    assert task["metadata"] == own | {"trace": "t-1"}
    assert MOMENT.fullmatch(own["queuedAt"])
    # The task has only fields that the protocol's own types know.
    ParseDict(task, Task())
    rest = await on_either.get(f"/a2a/main/tasks/{task['id']}", headers=NEW)
    assert (rest.status_code, rest.json()) == (200, task)


@requirement("S1.x.states.closed")
async def test_every_end_and_every_wait_has_its_a2a_state(client: httpx.AsyncClient) -> None:
    for text, expected in STATES.items():
        task = await send(client, text)
        assert state(task) == expected
        assert await task_ids(client, status=expected) == [task["id"]]


@requirement("S1.fail")
async def test_a_failed_task_has_the_error_as_its_status_message(client: httpx.AsyncClient) -> None:
    task = await send(client, "fail for good")
    assert (state(task), text_of(task)) == (FAILED, "Told to fail for good.")
    assert "artifacts" not in task
    assert state(await send(client, "and on", contextId=task["contextId"])) == COMPLETED


@requirement("S1.decline")
async def test_a_task_that_the_agent_declines_is_rejected_with_its_reason(client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(("decline", {"reason": "That is not my field."})))
    assert (state(task), text_of(task)) == ("TASK_STATE_REJECTED", "That is not my field.")
    assert task["metadata"]["reason"] == "rejected"
    run = (await client.get(f"/api/runs/{task['id']}")).json()["run"]
    assert (run["state"], run["reason"]) == ("failed", "rejected")


@requirement("S1.x.metadata.merge")
async def test_metadata_of_the_message_survives_every_change_of_the_task(
    on_either: httpx.AsyncClient,
) -> None:
    kept = {"trace": "t-1", "nested": {"list": [1, 2.5, "x", None, True]}}
    sent: Json = {"message": message("ask what?"), "metadata": kept}
    asked = (await ask(on_either, "SendMessage", **sent))["task"]
    more: Json = {"message": message("that", taskId=asked["id"]), "metadata": {"trace": "t-2"}}
    done = (await ask(on_either, "SendMessage", **more))["task"]
    for task in (asked, done, await get(on_either, asked)):
        assert kept.items() <= task["metadata"].items()
    assert done["metadata"]["generation"] > asked["metadata"]["generation"]


@requirement("S1.history.task")
async def test_the_history_has_only_messages_of_this_task(on_either: httpx.AsyncClient) -> None:
    lines = ["first", "second", "third"]
    tasks = [await send(on_either, line, contextId="c") for line in lines]
    shown = [[text_of(one) for one in (await get(on_either, task))["history"]] for task in tasks]
    assert shown == [[line, f"echo: {line}"] for line in lines]
    assert {one["taskId"] for task in tasks for one in task["history"]} == {task["id"] for task in tasks}


async def test_tool_calls_are_not_part_of_the_history(client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(("session_status", {})))
    assert [one["role"] for one in task["history"]] == ["ROLE_USER", "ROLE_AGENT"]


@requirement("S1.history.length")
async def test_the_history_is_as_long_as_requested(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as client:
        task = await send(client, "line 0", at_once=True)
        for n in range(1, 104):
            await end(server.db, await begin(server.db), NeedsInput(question="more?"))
            await send(client, f"line {n}", taskId=task["id"], at_once=True)
        whole = [f"line {n}" for n in range(104)]
        expected = {None: whole[-100:], 1: whole[-1:], 3: whole[-3:], 100: whole[-100:], 103: whole[-103:], 2000: whole}
        for length, lines in expected.items():
            asked: Json = {} if length is None else {"historyLength": length}
            assert [text_of(one) for one in (await get(client, task, **asked))["history"]] == lines
            listing = await ask(client, "ListTasks", **asked)
            assert [text_of(one) for one in listing["tasks"][0]["history"]] == lines
        assert "history" not in await get(client, task, historyLength=0)
        await end(server.db, await begin(server.db), NeedsInput(question="more?"))
        sent: Json = {"message": message("last", taskId=task["id"])}
        sent["configuration"] = {"historyLength": 1, "returnImmediately": True}
        assert [text_of(one) for one in (await ask(client, "SendMessage", **sent))["task"]["history"]] == ["last"]


@requirement("S1.history.length", "S1.wire.errors")
async def test_an_invalid_history_length_is_refused(client: httpx.AsyncClient) -> None:
    task = await send(client, "hello")
    wrong: list[Any] = [-1, "many", 1.5, 2**31, True, {}]
    for length in wrong:
        for method, more in (("GetTask", {"id": task["id"]}), ("ListTasks", {})):
            answer = await call(client, method, {**more, "historyLength": length})
            assert refusal(answer) == (-32602, "INVALID_PARAMS", "historyLength"), (method, length)
    for text in ("-1", "many", "1.5", ""):
        rest = await client.get(f"/a2a/main/tasks/{task['id']}", params={"historyLength": text}, headers=NEW)
        assert rest.status_code == 400
        assert rest.json()["error"]["details"][0]["metadata"] == {"field": "historyLength"}


async def test_a_history_scope_beyond_the_task_is_refused(client: httpx.AsyncClient) -> None:
    task = await send(client, "hello")
    for scope in ("plan", "objective", "galaxy"):
        for name in ("historyScope", "opt/v1/historyScope"):
            answer = await call(client, "GetTask", {"id": task["id"], "metadata": {name: scope}})
            assert refusal(answer) == (-32602, "INVALID_PARAMS", "metadata.historyScope")
        rest = await client.get(f"/a2a/main/tasks/{task['id']}", params={"historyScope": scope}, headers=NEW)
        assert rest.status_code == 400
    assert (await get(client, task, metadata={"historyScope": "task"}))["history"] == task["history"]


@requirement("S1.generation")
async def test_the_generation_counts_states_and_artifacts_and_nothing_else(server: HttpServer) -> None:
    async with server.client() as client:
        steps = agent_steps(("artifact_add", {"text": "a", "artifactId": "a"}), ("session_status", {}), ("hold", "it"))
        task = await send(client, steps, at_once=True)
        await server.agent.reached("it")
        # Submitted, working, one artifact; reading the session does not change the task.
        assert (await get(client, task))["metadata"]["generation"] == 3
        assert (await get(client, task))["metadata"]["generation"] == 3
        server.agent.release("it")
        (await client.get(f"/api/runs/{task['id']}/wait")).raise_for_status()
        assert (await get(client, task))["metadata"]["generation"] == 5
