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
from tests.surfaces.api_calls import Json, run_of, send_and_wait, start

KEY = "agent:main:web:my-own-chat"
# A way in: gives the accepted run's id, or the code of the refusal.
Way = Callable[[HttpServer, httpx.AsyncClient, str], Awaitable[str]]


def outcome(answer: httpx.Response) -> str:
    """The run's id or the refusal's code."""
    told: Json = answer.json()
    return str(told["error"]["code"] if "error" in told else told["runId"])


async def by_runs(_house: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post("/api/runs", json={"message": text, "sessionKey": KEY}))


async def by_send(_house: HttpServer, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post(f"/api/sessions/{KEY}/send", json={"message": text}))


async def by_chat(_house: HttpServer, client: httpx.AsyncClient, text: str) -> str:
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


WAYS = [by_runs, by_send, by_chat, by_socket]


@pytest.mark.anyio
@requirement("P.door", "S2.policy.enforced")
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_in_goes_past_the_policy(sqlite_url: str, way: Way) -> None:
    settings = Settings(sessions=SessionsSettings(send_policy=SendPolicySettings(default="deny")))
    async with open_http_server(sqlite_url, settings=settings) as server, server.client() as client:
        assert await way(server, client, "hello") == "send_denied"
        assert (await client.get("/api/sessions")).json()["sessions"] == []


@pytest.mark.anyio
@requirement("P.door", "S1.queue.limit")
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_in_goes_past_the_limit_of_a_lane(sqlite_url: str, way: Way) -> None:
    settings = Settings(runs=RunsSettings(lane_queue_max=1))
    async with open_http_server(sqlite_url, settings=settings) as server, server.client() as client:
        await start(client, "hold gate", sessionKey=KEY)
        await server.agent.reached("gate")
        await start(client, "queued", sessionKey=KEY)
        assert await way(server, client, "one too many") == "queue_full"
        assert len((await client.get("/api/runs")).json()["runs"]) == 2
        server.agent.release("gate")


@pytest.mark.anyio
@requirement("P.door")
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_says_by_whose_doing(server: HttpServer, client: httpx.AsyncClient, way: Way) -> None:
    run = await run_of(client, await way(server, client, "hello"))
    me = (await client.get("/api/auth/me")).json()["actor"]["id"]
    assert (run["provenance"]["kind"], run["provenance"]["actor"]) == ("external_user", me)
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
