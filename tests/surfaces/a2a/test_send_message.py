"""Sending: every message becomes a task, with or without waiting, or is refused with the invalid field."""

import asyncio
import base64
from typing import Any

import httpx
import pytest

from carrel.kernel.limits import A2A_ID_CHARS_MAX, A2A_VALUES_MAX, ATTACHMENTS_MAX, BODY_BYTES_MAX, MESSAGE_CHARS_MAX
from carrel.kernel.settings import A2aSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    NEW,
    SUBMITTED,
    WORKING,
    Json,
    ask,
    call,
    get,
    message,
    refusal,
    send,
    state,
    text_of,
)

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()


@requirement("S1.send.task")
async def test_a_message_becomes_a_task_with_a_new_id_and_context(
    on_either: httpx.AsyncClient,
) -> None:
    answer = await ask(on_either, "SendMessage", message=message("hello"))
    assert list(answer) == ["task"]
    task = answer["task"]
    assert task["id"].startswith("run_")
    assert task["contextId"]
    other = await send(on_either, "hello")
    assert task["id"] != other["id"]
    assert task["contextId"] != other["contextId"]
    same = await send(on_either, "again", contextId=task["contextId"])
    assert (same["contextId"], same["id"] == task["id"]) == (task["contextId"], False)


@requirement("S1.send.blocking", "S1.complete")
async def test_a_send_waits_for_the_end_and_returns_the_reply(on_either: httpx.AsyncClient) -> None:
    task = await send(on_either, "hello")
    assert (state(task), text_of(task)) == (COMPLETED, "echo: hello")
    assert task["artifacts"] == [{"artifactId": "result", "name": "result", "parts": [{"text": "echo: hello"}]}]


@requirement("S1.send.blocking")
async def test_a_send_waits_no_longer_than_the_settings_say(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(blocking_wait_seconds=1))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        async with asyncio.timeout(8):
            task = await send(client, "hold long")
        assert state(task) == WORKING
        server.agent.release("long")
        assert state(await get(client, task)) in (WORKING, COMPLETED)


@requirement("S1.send.immediate")
async def test_a_send_without_waiting_returns_a_task_that_has_not_ended(server: HttpServer) -> None:
    async with server.client() as client:
        task = await send(client, "hold it", at_once=True)
        assert state(task) in (SUBMITTED, WORKING)
        await server.agent.reached("it")
        assert state(await get(client, task)) == WORKING
        server.agent.release("it")


@requirement("S1.send.immediate", "S1.wire.versions")
async def test_a2a_0_3_does_not_wait_with_blocking_false(server: HttpServer) -> None:
    old = {"messageId": "old-1", "role": "user", "parts": [{"kind": "text", "text": "hold it"}]}
    async with server.client() as client:
        params = {"message": old, "configuration": {"blocking": False}}
        task = (await call(client, "message/send", params, version="0.3"))["result"]
        assert task["status"]["state"] in ("submitted", "working")
        server.agent.release("it")
        params = {"message": old | {"messageId": "old-2"}, "configuration": {"blocking": True}}
        task = (await call(client, "message/send", params, version="0.3"))["result"]
        assert task["status"]["state"] == "completed"


async def test_a_client_that_stops_waiting_loses_nothing(server: HttpServer) -> None:
    async with server.client() as client:
        impatient = asyncio.create_task(send(client, "hold it", contextId="left"))
        await server.agent.reached("it")
        impatient.cancel()
        await asyncio.wait([impatient])
        server.agent.release("it")
        (found,) = (await ask(client, "ListTasks", contextId="left"))["tasks"]
        assert text_of(await send(client, "behind it", contextId="left")) == "echo: behind it"
        assert state(await get(client, found)) == COMPLETED


def nested(levels: int) -> Any:
    """Return a list nested that deep."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def changed(**more: Any) -> Json:
    """Return params whose message has other values."""
    return {"message": message("hello") | more}


WRONG: list[tuple[Any, str]] = [
    ({}, "message"),
    ({"message": None}, "message"),
    ({"message": "hello"}, "message"),
    ({"message": ["hello"]}, "message"),
    (["message"], "params"),
    ("message", "params"),
    (changed(parts=[]), "message.parts"),
    (changed(parts=None), "message.parts"),
    (changed(parts="hello"), "message.parts"),
    (changed(parts=["hello"]), "message.parts.0"),
    (changed(parts=[None]), "message.parts.0"),
    (changed(parts=[{}]), "message.parts.0"),
    (changed(parts=[{"text": "x"}, {"colour": "red"}]), "message.parts.1"),
    (changed(parts=[{"text": 7}]), "message.parts.0.text"),
    (changed(parts=[{"text": "a\0b"}]), "message.parts"),
    *[(changed(parts=[{"raw": content}]), "message.parts.0.raw") for content in ("no base64!", "aGVsb", "é", "a b=")],
    (changed(parts=[{"raw": "", "mediaType": "image/png"}]), "message.parts.0.raw"),
    (changed(parts=[{"url": "file:///etc/passwd"}]), "message.parts.0.url"),
    (changed(parts=[{"url": "http://example.org", "data": None}]), "message.parts.0"),
    (changed(parts=[{"data": 1, "filename": "a\0"}]), "message.parts.0.filename"),
    (changed(parts=[{"raw": PIXEL, "mediaType": "image/png"}] * (ATTACHMENTS_MAX + 1)), "message.parts"),
    (changed(parts=[{"text": "  "}]), "message.parts"),
    (changed(parts=[{"text": "x" * (MESSAGE_CHARS_MAX + 1)}]), "message.parts"),
    (changed(role=None), "message.role"),
    (changed(role="ROLE_UNSPECIFIED"), "message.role"),
    (changed(role="ROLE_AGENT"), "message.role"),
    (changed(role="ROLE_KING"), "message.role"),
    (changed(messageId=""), "message.messageId"),
    (changed(messageId=None), "message.messageId"),
    (changed(messageId=7), "message.messageId"),
    (changed(messageId="m" * (A2A_ID_CHARS_MAX + 1)), "message.messageId"),
    (changed(messageId="m\0"), "message.messageId"),
    (changed(contextId="c" * (A2A_ID_CHARS_MAX + 1)), "message.contextId"),
    (changed(contextId="c\0"), "message.contextId"),
    (changed(contextId={}), "message.contextId"),
    (changed(metadata="none"), "message.metadata"),
    (changed(metadata={"x": nested(26)}), "message.metadata.x"),
    (changed(parts=[{"data": nested(500)}]), "message.parts.0"),
    (changed(metadata={"many": list(range(A2A_VALUES_MAX))}), "message.metadata.many"),
    (changed(parts=[{"text": "x"}] * A2A_VALUES_MAX), "message.parts.4997"),
    (changed() | {"metadata": 7}, "metadata"),
    (changed() | {"configuration": 7}, "configuration"),
    (changed() | {"configuration": {"historyLength": -1}}, "configuration.historyLength"),
    (changed() | {"configuration": {"historyLength": "many"}}, "configuration.historyLength"),
    (changed() | {"configuration": {"returnImmediately": "yes"}}, "configuration.returnImmediately"),
]


@requirement("S1.send.validate", "S1.wire.errors")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_an_invalid_message_is_refused_with_its_field_and_creates_no_task(
    client: httpx.AsyncClient, method: str
) -> None:
    found = [(refusal(await call(client, method, params)), field) for params, field in WRONG]
    assert [error for error, _ in found] == [(-32602, "INVALID_PARAMS", field) for _, field in found]
    assert (await ask(client, "ListTasks"))["totalSize"] == 0


@requirement("S1.send.validate", "S1.wire.errors")
async def test_over_http_an_invalid_message_is_a_bad_request_with_the_same_field(client: httpx.AsyncClient) -> None:
    for params, field in WRONG:
        answer = await client.post("/a2a/main/message:send", json=params, headers=NEW)
        error = answer.json()["error"]
        assert (answer.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
        assert error["details"][1]["fieldViolations"][0]["field"] == field
    assert (await ask(client, "ListTasks"))["totalSize"] == 0


OLD_TEXT = [{"kind": "text", "text": "hello"}]


def old(**more: Any) -> Json:
    """Return params of 0.3 whose message has other values."""
    return {"message": {"messageId": "m", "role": "user", "parts": OLD_TEXT} | more}


def old_file(content: str) -> Json:
    return old(parts=[*OLD_TEXT, {"kind": "file", "file": {"bytes": content, "mimeType": "image/png"}}])


OLD_WRONG: list[tuple[Any, str]] = [
    ({}, "message"),
    ({"message": {"messageId": "m", "role": "user"}}, "message.parts"),
    ({"message": {"role": "user", "parts": OLD_TEXT}}, "message.messageId"),
    (old(messageId=""), "message.messageId"),
    (old(parts=[]), "message.parts"),
    (old(role="king"), "message.role"),
    (old(role="agent"), "message.role"),
    (old(parts=[{"kind": "song"}]), "message.parts.0.kind"),
    (old(parts=[{"kind": "text"}]), "message.parts.0.text"),
    (old(parts=[{"kind": "data"}]), "message.parts.0.data"),
    (old(metadata={"x": nested(26)}), "message.metadata.x"),
    (old() | {"metadata": {"x": nested(27)}}, "metadata.x.0"),
    (old() | {"configuration": {"historyLength": 2**31}}, "configuration.historyLength"),
    (old() | {"configuration": {"historyLength": -1}}, "configuration.historyLength"),
    *[(old_file(content), "message.parts.1.file.bytes") for content in ("no base64!", "aGVsbG8*", "aGVsb", "é", "NaN")],
]


@requirement("S1.send.validate")
async def test_a2a_0_3_names_the_invalid_field_too(client: httpx.AsyncClient) -> None:
    for params, field in OLD_WRONG:
        answer = await call(client, "message/send", params, version="0.3")
        assert refusal(answer) == (-32602, "INVALID_PARAMS", field)
    assert (await ask(client, "ListTasks"))["totalSize"] == 0


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x", "mediaType": "video/mp4"},
        {"raw": PIXEL, "mediaType": "application/zip"},
        {"raw": PIXEL},
        {"url": "https://example.org/a.zip", "mediaType": "application/zip"},
    ],
)
async def test_a_file_of_an_unsupported_type_is_refused(client: httpx.AsyncClient, part: Json) -> None:
    answer = await call(client, "SendMessage", {"message": message() | {"parts": [part]}})
    assert refusal(answer) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED", "message.parts.0.mediaType")


async def test_text_data_and_files_reach_the_agent_and_are_returned_unchanged(
    on_either: httpx.AsyncClient,
) -> None:
    parts: list[Json] = [
        {"data": {"whole": 3, "half": 0.5, "list": [True, None]}, "mediaType": "application/json"},
        {"raw": PIXEL, "mediaType": "image/png", "filename": "pixel.png", "metadata": {"from": "a test"}},
        {"url": "https://example.org/a.pdf", "mediaType": "application/pdf"},
        {"text": "look at these"},
    ]
    sent = message() | {"parts": parts, "metadata": {"of": "the message"}, "referenceTaskIds": ["run_x"]}
    task = (await ask(on_either, "SendMessage", message=sent))["task"]
    assert text_of(task) == "echo: look at these"
    assert task["history"][0] == sent | {"taskId": task["id"], "contextId": task["contextId"]}


async def test_a_body_over_the_size_limit_is_refused_before_it_is_read(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/a2a/main", content=b" " * (BODY_BYTES_MAX + 1), headers={"Content-Type": "application/json", **NEW}
    )
    assert (answer.status_code, answer.json()["error"]["data"][0]["reason"]) == (413, "TOO_LARGE")


async def test_a_stopping_server_accepts_nothing_new_but_its_tasks_can_be_read(server: HttpServer) -> None:
    async with server.client() as client:
        task = await send(client, "hello")
        server.drain.set()
        for method in ("SendMessage", "SendStreamingMessage"):
            answer = await call(client, method, {"message": message("late")})
            assert refusal(answer) == (-32603, "UNAVAILABLE", None)
        rest = await client.post("/a2a/main/message:send", json={"message": message("late")}, headers=NEW)
        assert (rest.status_code, int(rest.headers["retry-after"]) > 0) == (503, True)
        assert state(await get(client, task)) == COMPLETED
