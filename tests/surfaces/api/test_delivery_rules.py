"""Policy, limits and provenance apply to every message, whichever endpoint it comes by."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

import carrel
from carrel.kernel.settings import RunsSettings, SendPolicySettings, SessionsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, send_and_wait

KEY = "agent:main:web:my-own-chat"
# A way in: gives the accepted run's id, or the code of the refusal.
Way = Callable[[HttpServer, httpx.AsyncClient, str], Awaitable[str]]


def outcome(answer: httpx.Response) -> str:
    """The run's id or the refusal's code."""
    told: Json = answer.json()
    return str(told["error"]["code"] if "error" in told else told["runId"])


async def by_runs(_services: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post("/api/runs", json={"message": text, "sessionKey": KEY}))


async def by_send(_services: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post(f"/api/sessions/{KEY}/send", json={"message": text}))


async def by_chat(_services: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post("/api/chat", json={"text": text, "sessionKey": KEY}))


async def by_socket(server: HttpServer, _client: httpx.AsyncClient, text: str) -> str:
    url = server.url.replace("http", "ws", 1) + "/ws/chat"
    offered: Any = [f"bearer.{server.owner}"]
    async with connect(url, subprotocols=offered, proxy=None) as line:
        await line.send(json.dumps({"type": "message", "sessionId": KEY, "text": text}))
        while True:
            frame = json.loads(await line.recv())
            if frame.get("eventType") == "error":
                return str(frame["payload"]["code"])
            if "runId" in frame:
                return str(frame["runId"])


async def by_tool(_server: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    arguments = {"sessionKey": KEY, "message": text, "timeoutSeconds": 0}
    told = (await client.post("/agent/sessions_send", json=arguments)).json()
    return str(told["error"]["code"] if told.get("ok") is False else told.get("code") or told["runId"])


async def by_mcp(_server: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    arguments = {"sessionKey": KEY, "message": text, "timeoutSeconds": 0}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sessions_send", "arguments": arguments},
    }
    answer = await client.post("/mcp", json=body, headers={"Accept": "application/json"})
    told = json.loads(answer.json()["result"]["content"][0]["text"])
    return str(told.get("code") or told["runId"])


async def by_responses(_server: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    body = {"model": "carrel", "input": text, "background": True}
    told = (await client.post("/v1/responses", json=body, headers={"x-openclaw-session-key": KEY})).json()
    return str(told["error"]["code"] if told.get("error") else told["id"])


async def by_a2a(_server: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    sent = {"messageId": f"m-{text}", "contextId": "ctx-1", "role": "ROLE_USER", "parts": [{"text": text}]}
    params = {"message": sent, "configuration": {"returnImmediately": True}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    told = (await client.post("/a2a/main", json=body, headers={"A2A-Version": "1.0"})).json()
    if "error" in told:
        return str(told["error"]["data"][0]["reason"]).lower()
    return str(told["result"]["task"]["id"])


CHATS = [by_runs, by_send, by_chat, by_socket]
WAYS = [*CHATS, by_tool, by_mcp, by_responses, by_a2a]


async def open_chat(client: httpx.AsyncClient) -> None:
    """Create the session that the ways send to; a tool reaches only what exists."""
    made = await client.post("/api/sessions", json={"agentId": "main", "conversationKey": "my-own-chat"})
    assert made.status_code == 201, made.text


@requirement("P.door", "S2.policy.enforced")
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_in_goes_past_the_policy(surface_url: str, way: Way) -> None:
    settings = Settings(sessions=SessionsSettings(send_policy=SendPolicySettings(default="deny")))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await open_chat(client)
        assert await way(server, client, "hello") in ("send_denied", "forbidden")
        assert (await client.get("/api/runs")).json()["runs"] == []


@requirement("P.door", "S1.queue.limit")
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_in_goes_past_the_limit_of_a_lane(surface_url: str, way: Way) -> None:
    settings = Settings(runs=RunsSettings(lane_queue_max=1))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await open_chat(client)
        await way(server, client, "hold gate")
        await server.agent.reached("gate")
        await way(server, client, "queued")
        assert await way(server, client, "one too many") == "queue_full"
        assert len((await client.get("/api/runs")).json()["runs"]) == 2
        server.agent.release("gate")


@requirement("P.door")
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_says_by_whose_doing(server: HttpServer, client: httpx.AsyncClient, way: Way) -> None:
    await open_chat(client)
    await way(server, client, "hello")
    # The oldest: a reply to a tool's message is a run as well.
    run = (await client.get("/api/runs")).json()["runs"][-1]
    me = (await client.get("/api/auth/me")).json()["actor"]["id"]
    kind = "inter_session" if way in (by_tool, by_mcp) else "a2a" if way is by_a2a else "external_user"
    assert (run["provenance"]["kind"], run["provenance"]["actor"]) == (kind, me)
    assert (await send_and_wait(client, "behind", sessionKey=KEY))["generation"] == 1


@requirement("P.door")
def test_only_the_door_writes_new_runs() -> None:
    rooms = Path(next(iter(carrel.__path__)))
    users = {
        str(path.relative_to(rooms))
        for path in rooms.rglob("*.py")
        if "insert_run(" in path.read_text() or "INSERT INTO runs " in path.read_text()
    }
    assert users == {"runs/queue.py", "runs/queue_store.py"}
