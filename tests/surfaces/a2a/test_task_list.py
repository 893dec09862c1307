"""Lists of tasks: the caller's own, newest change first, filtered, and paged without repeats or gaps."""

import base64
import json
from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    NEW,
    REJECTED,
    Json,
    agent_steps,
    ask,
    call,
    message,
    refusal,
    send,
    task_ids,
)


async def pages(client: httpx.AsyncClient, **filters: Any) -> list[Json]:
    """Return every page of a list."""
    found: list[Json] = [await ask(client, "ListTasks", **filters)]
    while found[-1]["nextPageToken"]:
        found.append(await ask(client, "ListTasks", **filters | {"pageToken": found[-1]["nextPageToken"]}))
    return found


def ids(found: list[Json]) -> list[str]:
    return [task["id"] for page in found for task in page["tasks"]]


@requirement("S1.list.filters")
async def test_tasks_are_listed_by_context_and_state_newest_change_first(on_either: httpx.AsyncClient) -> None:
    a = await send(on_either, "ask what?", contextId="c-1")
    b = await send(on_either, "hello", contextId="c-1")
    c = await send(on_either, "hello", contextId="c-2")
    d = await send(on_either, agent_steps(("decline", {"reason": "no"})), contextId="c-2")
    assert await task_ids(on_either) == [d["id"], c["id"], b["id"], a["id"]]
    # The answer is a change, so the oldest task is first now.
    await send(on_either, "that", taskId=a["id"])
    assert await task_ids(on_either) == [a["id"], d["id"], c["id"], b["id"]]
    assert await task_ids(on_either, contextId="c-1") == [a["id"], b["id"]]
    assert await task_ids(on_either, status=COMPLETED) == [a["id"], c["id"], b["id"]]
    assert await task_ids(on_either, contextId="c-2", status=REJECTED) == [d["id"]]
    assert await task_ids(on_either, status=FAILED) == []
    assert await task_ids(on_either, contextId="nowhere") == []
    rest = await on_either.get("/a2a/main/tasks", params={"contextId": "c-1", "status": COMPLETED}, headers=NEW)
    assert [task["id"] for task in rest.json()["tasks"]] == [a["id"], b["id"]]


@requirement("S1.list.filters")
async def test_tasks_that_changed_at_or_after_a_time_are_listed(on_either: httpx.AsyncClient) -> None:
    tasks = [await send(on_either, f"line {n}") for n in range(3)]
    times = [task["status"]["timestamp"] for task in tasks]
    for at, moment in enumerate(times):
        expected = [task["id"] for task, when in zip(tasks, times, strict=True) if when >= moment]
        assert sorted(await task_ids(on_either, statusTimestampAfter=moment)) == sorted(expected)
        assert tasks[at]["id"] in expected
    later = times[2].replace("Z", "001Z")
    assert await task_ids(on_either, statusTimestampAfter=later) == []
    for moment, count in (("1970-01-01T00:00:00Z", 3), ("0001-01-01T00:00:00Z", 3), ("9999-12-31T23:59:59Z", 0)):
        assert len(await task_ids(on_either, statusTimestampAfter=moment)) == count
    assert len(await task_ids(on_either, statusTimestampAfter="2020-06-01T12:00:00+05:30")) == 3


@requirement("S1.list.page")
async def test_a_list_is_paged_without_repeats_or_gaps_while_tasks_are_added(on_either: httpx.AsyncClient) -> None:
    tasks = [(await send(on_either, f"line {n}", contextId=f"c-{n % 2}"))["id"] for n in range(7)]
    for size in (1, 2, 3, 7, 100):
        found = await pages(on_either, pageSize=size)
        assert ids(found) == tasks[::-1]
        assert {(page["pageSize"], page["totalSize"]) for page in found} == {(size, 7)}
        assert [len(page["tasks"]) for page in found[:-1]] == [size] * (len(found) - 1)
    first = await ask(on_either, "ListTasks", pageSize=3)
    added = [(await send(on_either, f"added {n}"))["id"] for n in range(4)]
    rest = await pages(on_either, pageSize=3, pageToken=first["nextPageToken"])
    assert ids([first, *rest]) == tasks[::-1]
    assert ids(await pages(on_either, pageSize=4)) == [*added[::-1], *tasks[::-1]]
    assert ids(await pages(on_either, pageSize=2, contextId="c-1")) == tasks[5::-2]


@requirement("S1.list.page")
async def test_a_page_has_fifty_tasks_by_default(client: httpx.AsyncClient) -> None:
    for n in range(52):
        await send(client, f"line {n}", contextId=f"c-{n}", at_once=True)
    page = await ask(client, "ListTasks")
    assert (len(page["tasks"]), page["pageSize"], page["totalSize"]) == (50, 50, 52)
    rest = await ask(client, "ListTasks", pageToken=page["nextPageToken"])
    assert (len(rest["tasks"]), rest["nextPageToken"], rest["totalSize"]) == (2, "", 52)
    answer = await client.get("/a2a/main/tasks", params={"pageSize": 2}, headers=NEW)
    assert list(answer.json()) == ["tasks", "nextPageToken", "pageSize", "totalSize"]
    empty = await ask(client, "ListTasks", contextId="nowhere")
    assert empty == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def token(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


WRONG: list[tuple[Json, str]] = [
    *[({"pageSize": size}, "pageSize") for size in (0, -1, 101, 2**31, "many", 1.5)],
    *[({"status": name}, "status") for name in ("TASK_STATE_RUNNING", "working", 99, -1, True)],
    ({"status": {}}, "status"),
    *[
        ({"statusTimestampAfter": when}, "statusTimestampAfter")
        for when in ("yesterday", 7, "", "2020-13-01T00:00:00Z")
    ],
    *[({"pageToken": text}, "pageToken") for text in ("x", "é", "a\0", "=", token({}), token([1]), token(["x", "y"]))],
    *[({"pageToken": token(place)}, "pageToken") for place in ([2**63, "x"], [-(2**63) - 1, "x"], [1, "a\0b"], [1, 2])],
    ({"contextId": 7}, "contextId"),
    ({"includeArtifacts": "maybe"}, "includeArtifacts"),
]


@requirement("S1.list.page", "S1.wire.errors")
async def test_an_invalid_list_request_is_refused_with_its_field(on_either: httpx.AsyncClient) -> None:
    for params, field in WRONG:
        answer = await call(on_either, "ListTasks", params)
        assert "error" in answer, params
        assert refusal(answer) == (-32602, "INVALID_PARAMS", field), params
    wrong = [("pageSize", "0"), ("pageSize", "many"), ("status", "TASK_STATE_RUNNING"), ("status", "99")]
    wrong += [("pageToken", "x"), ("pageToken", token([2**63, "run_x"])), ("includeArtifacts", "maybe")]
    wrong += [("statusTimestampAfter", "yesterday"), ("historyLength", "-1")]
    for name, text in wrong:
        rest = await on_either.get("/a2a/main/tasks", params={name: text}, headers=NEW)
        assert (rest.status_code, rest.json()["error"]["details"][0]["metadata"]) == (400, {"field": name})


@requirement("S1.list.artifacts")
async def test_lists_have_artifacts_only_on_request(client: httpx.AsyncClient) -> None:
    await send(client, "hello")
    (shown,) = (await ask(client, "ListTasks"))["tasks"]
    assert "artifacts" not in shown
    (shown,) = (await ask(client, "ListTasks", includeArtifacts=True))["tasks"]
    assert [one["artifactId"] for one in shown["artifacts"]] == ["result"]
    for text, count in (("true", 1), ("false", 0)):
        rest = await client.get("/a2a/main/tasks", params={"includeArtifacts": text}, headers=NEW)
        assert len(rest.json()["tasks"][0].get("artifacts", [])) == count


async def test_sent_files_are_left_out_of_lists_and_returned_with_their_task(client: httpx.AsyncClient) -> None:
    file = {"raw": "aGVsbG8=", "mediaType": "image/png", "filename": "a.png"}
    asked = (await ask(client, "SendMessage", message=message("ask what?") | {"parts": [{"text": "ask x"}, file]}))[
        "task"
    ]
    answer = message(taskId=asked["id"]) | {"parts": [file, {"text": "that"}]}
    task = (await ask(client, "SendMessage", message=answer))["task"]
    (shown,) = (await ask(client, "ListTasks"))["tasks"]
    named = file | {"raw": ""}
    assert [one["parts"] for one in shown["history"] if one["role"] == "ROLE_USER"] == [
        [{"text": "ask x"}, named],
        [named, {"text": "that"}],
    ]
    (old,) = (await call(client, "tasks/list", {}, version="0.3"))["result"]["tasks"]
    assert old["history"][0]["parts"][1]["file"]["name"] == "a.png"
    for whole in (task, (await ask(client, "GetTask", id=task["id"]))):
        assert [one["parts"] for one in whole["history"] if one["role"] == "ROLE_USER"] == [
            [{"text": "ask x"}, file],
            [file, {"text": "that"}],
        ]


@requirement("S1.list.filters", "S1.x.owner")
async def test_a_list_has_only_the_callers_own_tasks_with_this_agent(
    server: HttpServer, client: httpx.AsyncClient, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    await client.post("/api/runs", json={"message": "no task of A2A"})
    mine = await send(alice, "mine", contextId="c")
    await send(bob, "another's", contextId="c")
    await send(client, "the owner's", contextId="c")
    await send(client, "to another agent", contextId="c", agent="writer")
    for filters in ({}, {"contextId": "c"}, {"status": COMPLETED}, {"status": INPUT_REQUIRED}):
        page = await ask(alice, "ListTasks", **filters)
        expected = [] if filters.get("status") == INPUT_REQUIRED else [mine["id"]]
        assert ([task["id"] for task in page["tasks"]], page["totalSize"]) == (expected, len(expected))


async def test_a_page_token_of_another_list_gives_no_access_to_it(
    alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    for n in range(3):
        await send(alice, f"line {n}")
    theirs = (await ask(alice, "ListTasks", pageSize=1))["nextPageToken"]
    await send(bob, "mine")
    assert (await ask(bob, "ListTasks", pageToken=theirs))["tasks"] == []


async def test_a2a_0_3_lists_tasks_in_its_own_form(client: httpx.AsyncClient) -> None:
    task = await send(client, "ask what?")
    await send(client, "hello")
    for spelling in ("input-required", "TASK_STATE_INPUT_REQUIRED"):
        answer = (await call(client, "tasks/list", {"status": spelling}, version="0.3"))["result"]
        assert [(one["id"], one["status"]["state"], one["kind"]) for one in answer["tasks"]] == [
            (task["id"], "input-required", "task")
        ]
        assert answer["totalSize"] == 1
    assert refusal(await call(client, "tasks/list", {"status": "running"}, version="0.3"))[0] == -32602
