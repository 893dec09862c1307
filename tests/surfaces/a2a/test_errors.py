"""Invalid and refused requests get the protocol's own codes; nothing ends in an internal error."""

import json
from typing import Any

import httpx

from carrel.kernel import Code, Refusal
from carrel.kernel.settings import A2aSettings, Settings
from carrel.surfaces.a2a.errors import from_refusal
from tests.harness.server import open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import COMPLETED, NEW, Json, call, message, refusal, send, state

CALL: Json = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
JSON = {"Content-Type": "application/json", **NEW}
BROKEN = [b"{", b"nul", b'{"a":1}}', b"\xff\xfe{}", b'{"a":"\xc3"}', b"[" * 100_000, b"{" + b'"a":{' * 50_000, b"'x'"]
# Body, the code it is refused with, and the id that the response repeats.
NO_CALLS: list[tuple[Any, int, Any]] = [
    (None, -32600, None),
    ([], -32600, None),
    ([CALL, CALL], -32600, None),
    ("ListTasks", -32600, None),
    (7, -32600, None),
    ({}, -32600, None),
    ({"id": 3}, -32600, 3),
    (CALL | {"jsonrpc": "1.0"}, -32600, 1),
    (CALL | {"jsonrpc": 2.0}, -32600, 1),
    (CALL | {"method": None}, -32600, 1),
    (CALL | {"method": ["ListTasks"]}, -32600, 1),
    (CALL | {"id": {}}, -32600, None),
    (CALL | {"id": [1]}, -32600, None),
    (CALL | {"id": True}, -32600, None),
    (CALL | {"params": []}, -32602, 1),
    (CALL | {"params": "x"}, -32602, 1),
    (CALL | {"params": 0}, -32602, 1),
    (CALL | {"method": "nothing", "id": "a"}, -32601, "a"),
]


@requirement("S1.wire.errors", "S1.send.validate")
async def test_a_body_that_is_not_json_is_refused(client: httpx.AsyncClient) -> None:
    for body in BROKEN:
        answer = await client.post("/a2a/main", content=body, headers=JSON)
        assert (answer.status_code, answer.json()["id"]) == (200, None)
        assert refusal(answer.json())[:2] == (-32700, "INVALID_JSON")
        for path in ("/a2a/main/message:send", "/a2a/main/v1/message:send"):
            rest = await client.post(path, content=body, headers={"Content-Type": "application/json"})
            assert (rest.status_code, rest.json()["error"]["details"][0]["reason"]) == (400, "INVALID_JSON")


@requirement("S1.wire.errors")
async def test_an_invalid_call_is_refused_with_its_own_id(client: httpx.AsyncClient) -> None:
    for body, code, call_id in NO_CALLS:
        answer = await client.post("/a2a/main", content=json.dumps(body), headers=JSON)
        assert answer.status_code == 200
        assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, call_id), body
    empty = await client.post("/a2a/main", content=b"", headers=JSON)
    assert empty.json()["error"]["code"] == -32600


async def test_ids_of_every_type_are_repeated_unchanged(client: httpx.AsyncClient) -> None:
    for raw in ("1", "-7", "0", '"a"', '""', '"\\u00e9\\u2028"', "1.5", "null", str(2**63), str(2**64 - 1)):
        body = b'{"jsonrpc":"2.0","method":"ListTasks","id":' + raw.encode() + b"}"
        answer = await client.post("/a2a/main", content=body, headers=JSON)
        assert "result" in answer.json(), raw
        assert answer.json()["id"] == json.loads(raw)


@requirement("S1.wire.errors")
async def test_every_error_names_its_reason_and_domain(client: httpx.AsyncClient) -> None:
    answer = await call(client, "GetTask", {"id": "run_unknown"})
    assert answer["error"]["data"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND",
            "domain": "a2a-protocol.org",
            "metadata": {},
        }
    ]
    rest = await client.get("/a2a/main/tasks/run_unknown", headers=NEW)
    error = rest.json()["error"]
    assert (rest.status_code, error["code"], error["status"]) == (404, 404, "NOT_FOUND")
    assert error["details"] == answer["error"]["data"]
    answer = await call(client, "GetTask", {})
    assert answer["error"]["data"][1] == {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "id", "description": "id is missing."}],
    }
    assert (await client.get("/a2a/main/tasks", params={"pageSize": 0}, headers=NEW)).status_code == 400


@requirement("S1.wire.errors")
def test_every_refusal_code_maps_to_an_a2a_error() -> None:
    kinds = {code: from_refusal(Refusal(code, "words")).kind for code in Code}
    assert all(-32768 <= kind.rpc <= -32000 for kind in kinds.values())
    assert {kind.http // 100 for code, kind in kinds.items() if kind.http >= 500} == {5}
    # Codes that A2A assigns are used only for what A2A assigns them to.
    assert {kind.reason for kind in kinds.values() if -32009 <= kind.rpc <= -32001} <= {
        "CONTENT_TYPE_NOT_SUPPORTED",
        "UNSUPPORTED_OPERATION",
    }


async def test_text_that_a_store_cannot_hold_breaks_nothing(on_either: httpx.AsyncClient) -> None:
    for above in ("/a2a/main", "/a2a/main/v1", "/a2a/x%00"):
        for path in (
            "/tasks/a%00",
            "/tasks?contextId=%00",
            "/tasks/x/pushNotificationConfigs/%00",
            "/tasks/%00:subscribe",
        ):
            answer = await on_either.get(above + path)
            assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (400, "INVALID_PARAMS")
    assert (await on_either.get("/a2a/%00/.well-known/agent-card.json")).status_code == 400
    assert (await on_either.post("/a2a/%00", json=CALL, headers=NEW)).status_code == 400
    task = await send(on_either, "hello")
    asked: list[tuple[str, Json]] = [
        *[(method, {"id": "a\0"}) for method in ("GetTask", "CancelTask", "SubscribeToTask")],
        ("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "a\0"}),
        ("ListTaskPushNotificationConfigs", {"taskId": "a\0"}),
    ]
    for method, params in asked:
        assert refusal(await call(on_either, method, params))[0] == -32001
    deleted = await call(on_either, "DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "a\0"})
    assert deleted["result"] == {}
    for name in ("tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotificationConfig/list"):
        assert refusal(await call(on_either, name, {"id": "a\0"}, version="0.3"))[0] == -32001
    assert (await call(on_either, "ListTasks", {"contextId": "a\0"}))["result"]["tasks"] == []
    odd = message("hello", metadata={"a\0": "b\0"}) | {"parts": [{"data": {"a\0": "b\0"}}, {"text": "x"}]}
    kept = (await call(on_either, "SendMessage", {"message": odd, "metadata": {"\0": "\0"}}))["result"]["task"]
    assert kept["history"][0]["metadata"] == {"a\0": "b\0"}
    assert kept["history"][0]["parts"] == odd["parts"]


async def test_a_body_of_another_media_type_is_refused(client: httpx.AsyncClient) -> None:
    for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x"):
        answer = await client.post("/a2a/main", content=b"{}", headers=NEW | {"Content-Type": kind})
        assert refusal(answer.json())[0] == -32005
        rest = await client.post("/a2a/main/message:send", content=b"{}", headers=NEW | {"Content-Type": kind})
        assert rest.status_code == 400
    for kind in ("application/json; charset=utf-8", "Application/A2A+JSON"):
        answer = await client.post("/a2a/main", content=json.dumps(CALL), headers=NEW | {"Content-Type": kind})
        assert "result" in answer.json()


async def test_urls_work_with_and_without_a_slash_and_only_for_their_methods(client: httpx.AsyncClient) -> None:
    for path in ("/a2a", "/a2a/", "/a2a/main", "/a2a/main/"):
        assert "result" in (await client.post(path, json=CALL, headers=NEW)).json()
        for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
            assert (await client.request(method, path)).status_code in (404, 405)
    for method, path in (
        ("DELETE", "/a2a/main/tasks/x"),
        ("PUT", "/a2a/main/message:send"),
        ("POST", "/a2a/main/tasks"),
    ):
        assert (await client.request(method, path)).status_code in (404, 405)
    assert (await client.head("/.well-known/agent-card.json")).status_code == 200
    assert (await client.head("/a2a/main/tasks", headers=NEW)).status_code == 200


async def test_a_refused_stream_gets_a_plain_response(client: httpx.AsyncClient, sqlite_url: str) -> None:
    params = {"message": message("hello") | {"role": "ROLE_AGENT"}}
    assert refusal(await call(client, "SendStreamingMessage", params))[0] == -32602
    rest = await client.post("/a2a/main/message:stream", json=params, headers=NEW)
    assert (rest.status_code, rest.headers["content-type"]) == (400, "application/json")
    settings = Settings(a2a=A2aSettings(streaming=False, extended_card=False))
    async with open_http_server(f"{sqlite_url}.other", settings=settings) as server, server.client() as caller:
        for method in ("SendStreamingMessage", "SubscribeToTask"):
            answer = await call(caller, method, {"message": message("hello"), "id": "run_x"})
            assert refusal(answer) == (-32004, "UNSUPPORTED_OPERATION", None)
        answer = await call(caller, "GetExtendedAgentCard", {})
        assert refusal(answer) == (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", None)
        card = (await caller.get("/.well-known/agent-card.json")).json()
        assert (card["capabilities"]["streaming"], card["capabilities"]["extendedAgentCard"]) == (False, False)


async def test_a_required_extension_must_be_declared(surface_url: str) -> None:
    required = "https://example.org/Wanted/v1"
    settings = Settings(a2a=A2aSettings(required_extensions=(required,)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        answer = await call(client, "SendMessage", {"message": message("hello")})
        assert refusal(answer) == (-32008, "EXTENSION_SUPPORT_REQUIRED", None)
        assert (await client.get("/a2a/main/tasks", headers=NEW)).status_code == 400
        card = (await client.get("/.well-known/agent-card.json")).json()
        assert card["capabilities"]["extensions"][0] == {"uri": required, "required": True}
        for name in ("A2A-Extensions", "X-A2A-Extensions"):
            declared = {name: f"https://example.org/other , {required.upper()}"}
            answered = await client.get("/a2a/main/tasks", headers=NEW | declared)
            assert (answered.status_code, answered.headers["a2a-extensions"]) == (200, required)


async def test_disabled_a2a_has_no_routes(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(enabled=False))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        assert (await client.get("/.well-known/agent-card.json")).status_code == 404
        assert (await client.post("/a2a/main", json=CALL, headers=NEW)).status_code == 404


async def test_a_disabled_agent_accepts_nothing_but_its_tasks_can_be_read(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    task = await send(client, "hello", agent="writer")
    assert (await client.patch("/api/agents/writer", json={"enabled": False})).status_code == 200
    answer = await call(client, "SendMessage", {"message": message("more")}, agent="writer")
    assert refusal(answer) == (-32000, "FORBIDDEN", None)
    shown = await call(client, "GetTask", {"id": task["id"]}, agent="writer")
    assert state(shown["result"]) == COMPLETED
