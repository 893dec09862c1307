"""The clients: agents and people that spawn from many lanes, and reset, stop and delete those lanes meanwhile."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.servers import ANSWER_SECONDS, Servers
from tests.spawns.model import NOTES, WORK, draw

LOOK_SECONDS = 0.05
LANES = tuple(f"agent:main:hook:lane-{number}" for number in range(24))
MEDDLING = {"spawn": 90, "reset": 4, "archive": 2, "stop": 2, "delete": 2}


@dataclass(frozen=True)
class Spawned:
    """A spawn that was accepted."""

    lane: str
    child: str
    run_id: str
    work: str
    notes: str
    cleanup: str
    by_person: bool


@dataclass
class Said:
    """What all clients together have received."""

    spawned: list[Spawned] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    numbers: int = 0


class Client:
    """A client; anything it does may be interrupted by a dying server."""

    def __init__(self, servers: Servers, said: Said, agent_token: str, seed: str) -> None:
        self._servers = servers
        self._said = said
        self._agent_token = agent_token
        self._chance = random.Random(seed)

    async def work(self, wanted: int) -> None:
        """Spawn and interfere until all clients together have so many accepted spawns."""
        while len(self._said.spawned) < wanted:
            url = self._servers.pick(self._chance)
            if url is None:
                await asyncio.sleep(LOOK_SECONDS)
                continue
            try:
                async with httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS) as client:
                    await self._act(client, self._chance.choice(LANES))
            except httpx.HTTPError:
                await asyncio.sleep(LOOK_SECONDS)

    async def _act(self, client: httpx.AsyncClient, lane: str) -> None:
        deed = draw(self._chance, MEDDLING)
        if deed == "spawn":
            return await self._spawn(client, lane)
        # Noted before it is done: a dying server may have done it.
        if deed == "delete":
            self._said.deleted.add(lane)
        if deed == "stop":
            self._said.stopped.add(lane)
        if deed == "delete":
            await client.delete(f"/api/sessions/{lane}", headers=self._servers.headers)
        else:
            await client.post(f"/api/sessions/{lane}/{deed}", headers=self._servers.headers)
        return None

    async def _spawn(self, client: httpx.AsyncClient, lane: str) -> None:
        by_person = self._chance.random() < 0.2
        token = self._servers.token if by_person else self._agent_token
        headers = {"Authorization": f"Bearer {token}", "x-openclaw-session-key": lane}
        body, work, notes = self._wanted()
        answer = await client.post("/agent/sessions_spawn", json=body, headers=headers)
        if answer.status_code in (401, 403):
            # Deleted, or closed and idle: a message must be sent there first.
            await client.post("/api/runs", json={"sessionKey": lane, "message": "hello"}, headers=self._servers.headers)
            return
        value: dict[str, Any] = answer.json()
        if answer.status_code != 200 or value["status"] != "accepted":
            return
        spawned = Spawned(lane, value["childSessionKey"], value["runId"], work, notes, body["cleanup"], by_person)
        self._said.spawned.append(spawned)

    def _wanted(self) -> tuple[dict[str, Any], str, str]:
        self._said.numbers += 1
        work, notes = draw(self._chance, WORK), draw(self._chance, NOTES)
        body: dict[str, Any] = {"task": f"{self._said.numbers} {work} {notes}"}
        body["cleanup"] = self._chance.choice(("keep", "keep", "delete"))
        if work == "stall":
            body["runTimeoutSeconds"] = 1
        if self._chance.random() < 0.3:
            body["attachments"] = [{"name": "sheep.txt", "content": "one, two, three"}]
        return body, work, notes
