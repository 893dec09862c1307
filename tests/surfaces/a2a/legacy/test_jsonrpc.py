"""Both protocol versions over both HTTP bindings: each with its own names, states, roles and shapes."""

from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    NEW,
    OLD,
    Json,
    Stream,
    call,
    message,
    open_stream,
    refusal,
    send,
    state,
)

NEW_METHODS: dict[str, Json] = {
    "SendMessage": {"message": message("hello", messageId="n-1")},
    "GetTask": {"id": "run_x"},
    "ListTasks": {},
    "CancelTask": {"id": "run_x"},
    "SubscribeToTask": {"id": "run_x"},
    "ListTaskPushNotificationConfigs": {"taskId": "run_x"},
    "GetExtendedAgentCard": {},
}
OLD_METHODS: dict[str, Json] = {
    "message/send": {"message": {"messageId": "o-1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}},
    "tasks/get": {"id": "run_x"},
    "tasks/list": {},
    "tasks/cancel": {"id": "run_x"},
    "tasks/resubscribe": {"id": "run_x"},
    "tasks/pushNotificationConfig/list": {"id": "run_x"},
    "agent/getAuthenticatedExtendedCard": {},
}


async def post(client: httpx.AsyncClient, method: str, asked: Json, **how: Any) -> Json:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": asked}
    answer: Json = (await client.post("/a2a/main", json=body, **how)).json()
    return answer


@requirement("S1.wire.versions")
async def test_a_method_exists_only_in_its_own_version(client: httpx.AsyncClient) -> None:
    unsupported = (-32009, "VERSION_NOT_SUPPORTED", None)
    for methods, own, other in ((NEW_METHODS, "1.0", "0.3"), (OLD_METHODS, "0.3", "1.0")):
        for method, params in methods.items():
            named = await post(client, method, params, headers={"A2A-Version": own})
            hows: list[Json] = [{}, {"headers": {"A2A-Version": ""}}, {"params": {"A2A-Version": own}}]
            for how in hows:
                assert await post(client, method, params, **how) == named, (method, how)
            assert ("error" in named) == ("run_x" in str(params)), named
            assert refusal(await post(client, method, params, headers={"A2A-Version": other})) == unsupported
    for version in ("2.0", "1.1", "0.2.5", "1", "one", "1.0x"):
        assert refusal(await post(client, "ListTasks", {}, headers={"A2A-Version": version})) == unsupported
    for version in ("1.0", "1.0.1"):
        assert "result" in await post(client, "ListTasks", {}, headers={"A2A-Version": version})
    unknown = (-32601, "METHOD_NOT_FOUND", None)
    for method in ("", "tasks/dance", "sendmessage", "objectives/create", "x" * 10_000):
        assert refusal(await post(client, method, {})) == unknown


@requirement("S1.wire.versions", "S1.x.states.closed")
async def test_a2a_0_3_uses_its_own_form(client: httpx.AsyncClient) -> None:
    parts = [
        {"kind": "data", "data": {"n": 1, "half": 0.5}},
        {"kind": "file", "file": {"bytes": "aGVsbG8=", "mimeType": "image/png", "name": "a.png"}},
        {"kind": "text", "text": "ask what?"},
    ]
    sent = {"kind": "message", "messageId": "o-1", "role": "user", "parts": parts, "contextId": "c"}
    task = (await call(client, "message/send", {"message": sent}, version="0.3"))["result"]
    assert (task["kind"], task["contextId"], task["status"]["state"]) == ("task", "c", "input-required")
    assert task["status"]["message"]["role"] == "agent"
    assert task["status"]["message"]["parts"] == [{"kind": "text", "text": "what?"}]
    assert task["history"][0] == sent | {"taskId": task["id"]}
    answer = {"messageId": "o-2", "role": "user", "parts": [{"kind": "text", "text": "that"}], "taskId": task["id"]}
    done = (await call(client, "message/send", {"message": answer}, version="0.3"))["result"]
    assert done["status"]["state"] == "completed"
    assert done["artifacts"][0]["parts"] == [{"kind": "text", "text": "echo: that"}]
    shown = (await call(client, "tasks/get", {"id": task["id"], "historyLength": 1}, version="0.3"))["result"]
    assert [one["role"] for one in shown["history"]] == ["agent"]
    assert refusal(await call(client, "tasks/cancel", {"id": task["id"]}, version="0.3"))[0] == -32002
    new = (await call(client, "GetTask", {"id": task["id"]}))["result"]
    assert (state(new), new["history"][0]["role"], "kind" in new) == (COMPLETED, "ROLE_USER", False)


@requirement("S1.wire.versions", "S1.stream.subscribe")
async def test_a2a_0_3_streams_in_its_own_form(server: HttpServer, client: httpx.AsyncClient) -> None:
    task = await send(client, "hold it", at_once=True)
    await server.agent.reached("it")
    async with open_stream(client, "tasks/resubscribe", {"id": task["id"]}, version="0.3") as stream:
        first = await stream.next()
        assert (first.kind, first.body["status"]["state"]) == ("task", "working")
        server.agent.release("it")
        artifact, end = await stream.rest()
    assert (artifact.kind, artifact.body["artifact"]["parts"]) == (
        "artifact-update",
        [{"kind": "text", "text": "echo: hold it"}],
    )
    assert (end.kind, end.body["status"]["state"], end.body["final"]) == ("status-update", "completed", True)


@requirement("S1.wire.versions")
async def test_over_http_each_version_has_its_own_urls(client: httpx.AsyncClient) -> None:
    sent = await client.post("/a2a/main/message:send", json={"message": message("hello")})
    assert (sent.status_code, state(sent.json()["task"])) == (200, COMPLETED)
    old = {"messageId": "o-1", "role": "ROLE_USER", "content": [{"text": "hello"}]}
    answer = await client.post("/a2a/main/v1/message:send", json={"message": old})
    assert answer.status_code == 200, answer.text
    task = answer.json()["task"]
    assert task["status"]["state"] == COMPLETED
    assert task["history"][0]["content"] == [{"text": "hello"}]
    snake = {"message": {"message_id": "o-2", "role": "ROLE_USER", "content": [{"text": "hello"}], "context_id": "c"}}
    assert (await client.post("/a2a/main/v1/message:send", json=snake)).json()["task"]["contextId"] == "c"
    shown = await client.get(f"/a2a/main/v1/tasks/{task['id']}")
    assert shown.json()["artifacts"][0]["parts"] == [{"text": "echo: hello"}]
    async with client.stream("POST", "/a2a/main/v1/message:stream", json={"message": old | {"messageId": "o-3"}}) as up:
        frames = await Stream(up).rest()
    assert [frame.kind for frame in frames] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert frames[-1].body["final"]
    for path, wrong in (
        ("/a2a/main/tasks", OLD),
        ("/a2a/main/v1/tasks/x", NEW),
        ("/a2a/main/tasks", {"A2A-Version": "9"}),
    ):
        refused = await client.get(path, headers=wrong)
        assert (refused.status_code, refused.json()["error"]["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")


async def test_a2a_0_3_errors_over_http_have_their_own_names(client: httpx.AsyncClient) -> None:
    missing = await client.get("/a2a/main/v1/tasks/run_x")
    assert (missing.status_code, missing.json()["type"]) == (404, "TaskNotFoundError")
    assert missing.json()["message"]


async def test_a_response_has_the_media_type_that_the_caller_uses(client: httpx.AsyncClient) -> None:
    plain = await client.get("/a2a/main/tasks", headers=NEW)
    assert plain.headers["content-type"] == "application/json"
    for name in ("Accept", "Content-Type"):
        own = await client.post(
            "/a2a/main/message:send",
            content=b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}',
            headers=NEW | {"Content-Type": "application/json", name: "application/a2a+json"},
        )
        assert (own.status_code, own.headers["content-type"]) == (200, "application/a2a+json")
