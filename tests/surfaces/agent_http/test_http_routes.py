"""Calling tools over HTTP: names, bodies, errors."""

import httpx
import pytest

from carrel.tools import CATALOG
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import send_and_wait


async def test_the_list_shows_what_the_caller_may_use(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.patch("/api/agents/main", json={"tools": {"allow": ["*"], "deny": ["agents_list"], "ask": []}})
    answer = await client.get("/agent")
    tools = {tool["name"]: tool for tool in answer.json()["tools"]}
    assert set(tools["session_status"]) == {"name", "aliases", "description", "effect", "parameters"}
    assert tools["session_status"]["effect"] == "read"
    assert tools["session_status"]["parameters"] == CATALOG.find("session_status").schema()
    assert tools["session_status"]["aliases"] == ["session-status"]
    assert not set(tools) & {"agents_list", "request_input", "decline", "artifact_add"}
    refused = await client.post("/agent/agents_list", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "tool_not_allowed")


async def test_a_tool_that_a_person_must_agree_to_is_not_called_past_that_person(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"tools": {"allow": ["*"], "deny": [], "ask": ["agents_*"]}})
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        refused = await agent.post("/agent/agents_list", json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "tool_not_allowed")
        assert "agents_list" not in {tool["name"] for tool in (await agent.get("/agent")).json()["tools"]}
    assert (await client.post("/agent/agents_list", json={})).status_code == 200, "the owner is a person"


@pytest.mark.parametrize("name", ["session_status", "session-status"])
async def test_a_tool_is_called_by_either_spelling_of_its_name(client: httpx.AsyncClient, name: str) -> None:
    await send_and_wait(client, "hello")
    answer = await client.post(f"/agent/{name}", json={})
    assert (answer.status_code, answer.json()["sessionKey"]) == (200, "main")
    assert (await client.post(f"/agent/{name}")).status_code == 200, "nothing counts as {}"


async def test_a_desk_that_nobody_has_spoken_at_is_there_all_the_same(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.post("/api/agents", json={"id": "fresh"})
    async with server.client(await server.token(client, kind="agent", agentId="fresh")) as agent:
        assert (await agent.get("/agent")).status_code == 200
        assert (await client.get("/api/sessions", params={"agentId": "fresh"})).json()["count"] == 0
        answer = await agent.post("/agent/session_status", json={})
    assert (answer.status_code, answer.json()["generation"]) == (200, 0)


@pytest.mark.parametrize(
    ("path", "body", "status", "code", "field"),
    [
        ("session_status", b'{"sessionKey": 7}', 400, "invalid_params", "sessionKey"),
        ("session_status", b'{"surprise": 7}', 400, "invalid_params", "surprise"),
        ("sessions_history", b"{}", 400, "invalid_params", "sessionKey"),
        ("session_status", b"[]", 400, "invalid_params", None),
        ("session_status", b"{nonsense", 400, "invalid_json", None),
        ("session_status", b'{"sessionKey": "\xff"}', 400, "invalid_json", None),
        ("session_status", b'{"sessionKey": "a\\u0000"}', 400, "invalid_params", "sessionKey"),
        ("session_status", b'{"sessionKey": "agent:main:task:none"}', 404, "not_found", None),
        ("no_such_tool", b"{}", 404, "not_found", None),
        ("artifact_add", b'{"text": "x"}', 403, "tool_not_allowed", None),
        ("request_input", b'{"question": "x"}', 403, "tool_not_allowed", None),
    ],
)
async def test_what_is_refused_is_told_in_the_error_body(
    client: httpx.AsyncClient, path: str, body: bytes, status: int, code: str, field: str | None
) -> None:
    answer = await client.post(f"/agent/{path}", content=body, headers={"Content-Type": "application/json"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error.get("field")) == (status, code, field)
    assert answer.json()["requestId"] == answer.headers["x-request-id"]


async def test_other_methods_and_media_are_refused_as_everywhere(client: httpx.AsyncClient) -> None:
    assert (await client.get("/agent/session_status")).status_code == 405
    assert (await client.post("/agent", json={})).status_code == 405
    text = await client.post("/agent/session_status", content=b"{}", headers={"Content-Type": "text/plain"})
    assert (text.status_code, text.json()["error"]["code"]) == (415, "unsupported_media_type")
