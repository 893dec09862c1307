"""Who may use MCP: tokens, sessions, hosts, and the metadata for clients."""

import asyncio

import httpx
import pytest
from msgspec import structs

from carrel.access import NewToken, mint_token
from carrel.kernel.settings import AuthSettings, ServerSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait, start
from tests.surfaces.mcp.client import ask, call, connected, result_of

SESSION = "x-openclaw-session-key"
TASK = "agent:main:task:task_1"


async def test_without_a_token_a_client_is_told_where_to_look(server: HttpServer) -> None:
    async with server.client(None) as nobody:
        refused = await ask(nobody, "tools/list")
        where = f"{server.url}/.well-known/oauth-protected-resource/mcp"
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
        for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
            told = await nobody.get(path)
            assert (told.status_code, told.json()["resource"]) == (200, f"{server.url}/mcp")
            assert told.json()["bearer_methods_supported"] == ["header"]
    async with server.client("crl_owner_no_such") as wrong:
        refused = await ask(wrong, "tools/list")
        assert refused.status_code == 401
        assert 'error="invalid_token"' in refused.headers["www-authenticate"]


async def test_a_wrong_session_is_403_where_401_means_log_in(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=TASK)
    unknown = await ask(client, "tools/list", headers={SESSION: "agent:main:task:none"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (403, "unknown_session")
    await client.post(f"/api/sessions/{TASK}/reset")
    closed = await ask(client, "tools/list", headers={SESSION: f"{TASK}:v1"})
    assert (closed.status_code, closed.json()["error"]["code"]) == (403, "session_closed")


async def test_a_call_is_made_from_the_session_that_is_named(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=TASK)
    async with connected(server, "2026-07-28", session=TASK) as there:
        assert (await there.call_tool("session_status", {})).structured_content["sessionKey"] == TASK


async def test_callers_who_ask_at_once_are_never_taken_for_one_another(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    names = [f"agent{n}" for n in range(4)]
    clients: list[httpx.AsyncClient] = []
    for name in names:
        await client.post("/api/agents", json={"id": name})
        clients.append(server.client(await server.token(client, kind="agent", agentId=name)))
    answers = await asyncio.gather(*(call(clients[n % 4], "agents_list") for n in range(40)))
    assert [answer["structuredContent"]["requester"] for answer in answers] == [names[n % 4] for n in range(40)]
    for one in clients:
        await one.aclose()


async def test_what_feeds_a_turn_is_offered_to_the_token_of_a_run_alone(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    held = await start(client, "hold here", sessionKey=TASK)
    await server.agent.reached("here")
    access = await server.access_of()
    new = NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"])
    _, secret = await server.db.write(lambda tx: mint_token(tx, access, new))
    async with server.client(secret) as run:
        offered = {tool["name"] for tool in (await result_of(run, "tools/list"))["tools"]}
        added = await call(run, "artifact_add", {"text": "a report"})
    server.agent.release("here")
    assert "artifact_add" in offered
    assert "artifactId" in added["structuredContent"]
    assert "artifact_add" not in {tool["name"] for tool in (await result_of(client, "tools/list"))["tools"]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8787", "Origin": "http://evil.example:8787"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "127.0.0.1", "Origin": "http://localhost:5173"}, 200),
        ({"Host": "192.0.2.7:8787"}, 200),
        ({"Host": "carrel.example"}, 200),
        ({"Host": "carrel.example", "Origin": "https://carrel.example"}, 200),
        ({"Host": "caller.lan:8787"}, 200),
    ],
)
async def test_a_foreign_name_does_not_lead_here(surface_url: str, headers: dict[str, str], status: int) -> None:
    reached = ServerSettings(public_url="https://carrel.example", host="caller.lan")
    settings = structs.replace(Settings(), server=reached)
    async with open_http_server(surface_url, settings=settings, works=False) as server, server.client() as owner:
        assert (await ask(owner, "tools/list", headers=headers)).status_code == status
        assert (await owner.get("/.well-known/oauth-protected-resource")).json()["resource"] == (
            "https://carrel.example/mcp"
        )


async def test_a_server_that_trusts_its_machine_asks_for_no_token(surface_url: str) -> None:
    settings = structs.replace(Settings(), auth=AuthSettings(mode="loopback"))
    async with open_http_server(surface_url, settings=settings, works=False) as server, server.client(None) as local:
        assert (await ask(local, "tools/list")).status_code == 200
        assert (await ask(local, "tools/list", headers={"X-Forwarded-For": "192.0.2.1"})).status_code == 401


@requirement("S0.x.restart.auth")
async def test_no_session_of_the_protocol_is_kept_so_any_server_goes_on(store_url: str) -> None:
    async with open_http_server(store_url, works=False) as server:
        async with server.client() as owner:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            begun = await ask(owner, "initialize", hello)
            assert "mcp-session-id" not in begun.headers
        token = server.owner
    async with open_http_server(store_url, works=False) as again, again.client(token) as owner:
        assert (await ask(owner, "tools/list", headers={"MCP-Protocol-Version": "2025-11-25"})).status_code == 200
