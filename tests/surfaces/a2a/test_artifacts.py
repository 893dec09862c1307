"""Artifacts that an agent adds in a turn are stored, streamed and returned in order; its reply is the last one."""

import base64
import json
from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    SUBMITTED,
    WORKING,
    agent_steps,
    apply_frames,
    call,
    get,
    refusal,
    send,
    state,
    stream_send,
    summary,
    text_of,
)

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}
BYTES = base64.b64encode(bytes(range(256))).decode()
VALUES = {"whole": 3, "half": 0.5, "nested": {"list": [1, "x", None, True]}}
ADDED = [
    ("artifact_add", {"text": "Once ", "artifactId": "story", "name": "A story"}),
    ("artifact_add", {"text": "upon a time.", "artifactId": "story", "append": True}),
    ("artifact_add", {"dataBase64": BYTES, "filename": "all.bin", "mediaType": "application/octet-stream"}),
    ("artifact_add", {"url": "https://example.org/a.png", "mediaType": "image/png"}),
    ("artifact_add", {"data": VALUES, "artifactId": "values"}),
]
PARTS = [
    [{"text": "Once "}, {"text": "upon a time."}],
    [{"raw": BYTES, "filename": "all.bin", "mediaType": "application/octet-stream"}],
    [{"url": "https://example.org/a.png", "mediaType": "image/png"}],
    [{"data": VALUES}],
    [{"text": "done"}],
]


@requirement("S1.artifacts", "S1.complete")
async def test_added_artifacts_are_streamed_in_order_and_returned_with_the_task(on_either: httpx.AsyncClient) -> None:
    async with stream_send(on_either, agent_steps(*ADDED)) as stream:
        frames = await stream.rest()
    first, *rest = frames
    names = summary(rest)
    assert names[0] == WORKING
    assert [names[1], names[2], names[5]] == ["story", "story", "values"]
    assert names[6:] == ["result", COMPLETED]
    assert [frame.body.get("append", False) for frame in rest[1:6]] == [False, True, False, False, False]
    assert [frame.id for frame in frames] == list(range(1, 10))
    task = await get(on_either, first.body)
    assert [artifact["parts"] for artifact in task["artifacts"]] == PARTS
    assert (task["artifacts"][0]["name"], task["artifacts"][-1]["artifactId"]) == ("A story", "result")
    followed = apply_frames(first.body, rest)
    assert [followed[name] for name in ("status", "artifacts")] == [task[name] for name in ("status", "artifacts")]


@requirement("S1.artifacts", "S1.wire.versions")
async def test_a2a_0_3_returns_the_same_artifacts_in_its_own_form(client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(*ADDED))
    shown = (await call(client, "tasks/get", {"id": task["id"]}, version="0.3"))["result"]
    kinds = [[part["kind"] for part in artifact["parts"]] for artifact in shown["artifacts"]]
    assert kinds == [["text", "text"], ["file"], ["file"], ["data"], ["text"]]
    assert shown["artifacts"][1]["parts"][0]["file"]["bytes"] == BYTES
    assert shown["artifacts"][2]["parts"][0]["file"]["uri"] == "https://example.org/a.png"
    assert shown["artifacts"][3]["parts"][0]["data"] == VALUES
    rest = await client.get(f"/a2a/main/v1/tasks/{task['id']}")
    assert rest.status_code == 200, rest.text
    assert len(rest.json()["artifacts"]) == 5


@requirement("S1.artifacts")
async def test_an_artifact_can_be_read_while_the_task_is_working(server: HttpServer, client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(ADDED[0], ("hold", "it"), ADDED[1]), at_once=True)
    await server.agent.reached("it")
    shown = await get(client, task)
    assert (state(shown), [one["parts"] for one in shown["artifacts"]]) == (WORKING, [[{"text": "Once "}]])
    server.agent.release("it")


def nested(levels: int) -> Any:
    """Return an object nested that deep."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@requirement("S1.artifacts")
async def test_data_too_deep_for_protobuf_is_returned_as_text(client: httpx.AsyncClient) -> None:
    for levels in (24, 25, 60, 200):
        task = await send(client, agent_steps(("artifact_add", {"data": nested(levels), "artifactId": "deep"})))
        (part,) = task["artifacts"][0]["parts"]
        written = {"text": json.dumps(nested(levels), separators=(",", ":")), "mediaType": "application/json"}
        assert part == ({"data": nested(levels)} if levels == 24 else written)
        for old in (
            await client.post("/a2a/main", json=CALL | {"params": {"id": task["id"]}}),
            await client.get(f"/a2a/main/v1/tasks/{task['id']}"),
        ):
            assert (old.status_code, "artifacts" in old.text) == (200, True)


@requirement("S1.complete", "S1.stream.send")
async def test_an_empty_reply_completes_without_an_artifact(client: httpx.AsyncClient) -> None:
    async with stream_send(client, "silence") as stream:
        frames = await stream.rest()
    assert summary(frames) == [SUBMITTED, WORKING, COMPLETED]
    task = await get(client, frames[0].body)
    assert "artifacts" not in task
    assert "message" not in task["status"]


async def test_a_declined_task_keeps_the_artifacts_added_before(client: httpx.AsyncClient) -> None:
    task = await send(client, agent_steps(ADDED[0], ("decline", {"reason": "no more"})))
    assert (state(task), text_of(task)) == ("TASK_STATE_REJECTED", "no more")
    assert [one["artifactId"] for one in task["artifacts"]] == ["story"]
    assert refusal(await call(client, "SubscribeToTask", {"id": task["id"]}))[0] == -32004
