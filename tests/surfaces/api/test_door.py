"""The one door: whichever way a message comes, policy, limits and provenance meet it."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

import carrel
from carrel.kernel.settings import RunsSettings, SendPolicySettings, SessionsSettings, Settings
from tests.requirements.mark import requirement
from tests.surfaces.open_house import OpenHouse, open_house
from tests.surfaces.talking import Json, hear, run_of, start

KEY = "agent:main:web:my-own-chat"
# A way in: gives the accepted run's id, or the code of the refusal.
Way = Callable[[OpenHouse, httpx.AsyncClient, str], Awaitable[str]]


def outcome(answer: httpx.Response) -> str:
    """The run's id or the refusal's code."""
    told: Json = answer.json()
    return str(told["error"]["code"] if "error" in told else told["runId"])


async def by_runs(_house: OpenHouse, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post("/api/runs", json={"message": text, "sessionKey": KEY}))


async def by_send(_house: OpenHouse, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post(f"/api/sessions/{KEY}/send", json={"message": text}))


async def by_chat(_house: OpenHouse, client: httpx.AsyncClient, text: str) -> str:
    return outcome(await client.post("/api/chat", json={"text": text, "sessionKey": KEY}))


async def by_socket(house: OpenHouse, _client: httpx.AsyncClient, text: str) -> str:
    url = house.url.replace("http", "ws", 1) + "/ws/chat"
    offered: Any = [f"bearer.{house.owner}"]
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
    async with open_house(sqlite_url, settings=settings) as house, house.client() as client:
        assert await way(house, client, "hello") == "send_denied"
        assert (await client.get("/api/sessions")).json()["sessions"] == []


@pytest.mark.anyio
@requirement("P.door", "S1.queue.limit")
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_in_goes_past_the_limit_of_a_lane(sqlite_url: str, way: Way) -> None:
    settings = Settings(runs=RunsSettings(lane_queue_max=1))
    async with open_house(sqlite_url, settings=settings) as house, house.client() as client:
        await start(client, "hold gate", sessionKey=KEY)
        await house.agent.reached("gate")
        await start(client, "queued", sessionKey=KEY)
        assert await way(house, client, "one too many") == "queue_full"
        assert len((await client.get("/api/runs")).json()["runs"]) == 2
        house.agent.release("gate")


@pytest.mark.anyio
@requirement("P.door")
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_says_by_whose_doing(house: OpenHouse, client: httpx.AsyncClient, way: Way) -> None:
    run = await run_of(client, await way(house, client, "hello"))
    me = (await client.get("/api/auth/me")).json()["actor"]["id"]
    assert (run["provenance"]["kind"], run["provenance"]["actor"]) == ("external_user", me)
    assert (await hear(client, "behind", sessionKey=KEY))["generation"] == 1


@requirement("P.door")
def test_only_the_door_writes_new_runs() -> None:
    rooms = Path(next(iter(carrel.__path__)))
    users = {
        str(path.relative_to(rooms))
        for path in rooms.rglob("*.py")
        if "insert_run(" in path.read_text() or "INSERT INTO runs " in path.read_text()
    }
    assert users == {"runs/queue.py", "runs/queue_store.py"}
