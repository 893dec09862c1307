"""The MCP protocol: both eras of the official client, every version by hand, tools only."""

import asyncio

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.harness.server import HttpServer
from tests.surfaces.api_calls import send_and_wait
from tests.surfaces.mcp.client import ERAS, HANDSHAKES, Json, ask, call, code_of, connected, result_of, text_of


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_lists_and_calls_in_either_era(server: HttpServer, era: str) -> None:
    async with server.client() as owner:
        await send_and_wait(owner, "hello")
    async with connected(server, era) as client:
        assert client.protocol_version == ("2025-11-25" if era == "legacy" else era)
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        called = await client.call_tool("session_status", {})
        refused = await client.call_tool("session_status", {"sessionKey": "agent:main:task:none"})
    assert tools["session_status"].annotations is not None
    assert tools["session_status"].annotations.read_only_hint is True
    assert called.structured_content["sessionKey"] == "main"
    assert not called.is_error
    assert code_of(refused) == "not_found"


async def test_a_client_that_finds_out_for_itself_takes_the_newest_version(server: HttpServer) -> None:
    async with connected(server, "auto") as client:
        assert client.protocol_version == "2026-07-28"
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).prompts == []
        assert client.server_capabilities.model_dump(exclude_none=True).keys() == {"tools"}


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_every_version_with_a_handshake_is_spoken(client: httpx.AsyncClient, version: str) -> None:
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begun = await result_of(client, "initialize", hello)
    assert begun["protocolVersion"] == version
    assert begun["serverInfo"]["name"] == "carrel"
    assert begun["capabilities"].keys() == {"tools"}
    named = {"MCP-Protocol-Version": version}
    assert await result_of(client, "ping", headers=named) == {}
    tools = (await result_of(client, "tools/list", headers=named))["tools"]
    assert "session_status" in {tool["name"] for tool in tools}


async def test_a_result_is_told_twice_as_structure_and_as_text(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    result = await call(client, "session_status")
    assert result["structuredContent"] == text_of(result)
    assert result["isError"] is False


async def test_every_result_fits_the_schema_that_was_told(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    listed = (await result_of(client, "tools/list"))["tools"]
    schemas = {tool["name"]: tool["outputSchema"] for tool in listed if "outputSchema" in tool}
    asked: dict[str, Json] = {
        "session_status": {},
        "sessions_list": {"messageLimit": 5},
        "sessions_history": {"sessionKey": "main", "includeTools": True},
        "agents_list": {},
    }
    assert set(asked) <= set(schemas)
    for tool in listed:
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool.get("outputSchema", {"type": "object"})["type"] == "object"
    for name, arguments in asked.items():
        result = await call(client, name, arguments)
        jsonschema.Draft202012Validator(schemas[name]).validate(result["structuredContent"])


async def test_a_refusal_is_the_error_body_as_text_and_an_unknown_tool_an_error_of_the_protocol(
    client: httpx.AsyncClient,
) -> None:
    refused = await call(client, "sessions_history", {"sessionKey": 7})
    error = text_of(refused)
    assert refused["isError"] is True
    # Clients check structured content against the tool's output schema, which no error body matches.
    assert "structuredContent" not in refused
    assert (error["error"]["code"], error["error"]["field"]) == ("invalid_params", "sessionKey")
    assert error["requestId"].startswith("req_")
    unknown = await ask(client, "tools/call", {"name": "fly", "arguments": {}})
    assert unknown.json()["error"]["code"] == -32602
    assert "fly" in unknown.json()["error"]["message"]
    hidden = await call(client, "request_input", {"question": "x"})
    assert text_of(hidden)["error"]["code"] == "tool_not_allowed"


async def test_a_stream_is_given_to_those_who_take_one(server: HttpServer, client: httpx.AsyncClient) -> None:
    both = {"Accept": "application/json, text/event-stream"}
    streamed = await ask(client, "tools/list", headers=both)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    async with client.stream("GET", "/mcp", headers={"Accept": "text/event-stream"}) as waiting:
        assert waiting.status_code == 200
        server.services.closing.set()
        async with asyncio.timeout(10):
            assert [line async for line in waiting.aiter_lines() if line.startswith("data:")] == []
    assert (await client.delete("/mcp")).status_code == 405
    assert (await client.put("/mcp", json={})).status_code == 405


async def test_what_is_no_request_is_refused_by_the_protocol(client: httpx.AsyncClient) -> None:
    plain = {"Accept": "application/json", "Content-Type": "application/json"}
    broken = await client.post("/mcp", content=b"{nonsense", headers=plain)
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)
    strange = await ask(client, "tools/list", headers={"MCP-Protocol-Version": "1999-01-01"})
    assert strange.status_code == 400
