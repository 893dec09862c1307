"""The trial: spawn, kill, meddle; then let everything rest, check it, and deliver again what could not be delivered."""

import asyncio
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from carrel.delivery import Sweeping
from carrel.kernel.settings import Settings, StorageSettings
from carrel.storage import open_database
from tests.chaos.servers import Servers
from tests.spawns.checks import Evidence, read_evidence, violations
from tests.spawns.clients import ANSWER_SECONDS, LANES, Client, Said
from tests.spawns.model import TrialGateway

CLIENTS = 8
SECONDS_BETWEEN_KILLS = (1.0, 3.0)
REST_SECONDS_MAX = 300.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Report:
    """How a trial ended."""

    spawned: int
    kills: int
    states: dict[str, int]
    redelivered: int
    broken: list[str]
    kept: Path | None


async def try_spawns(url: str | None, *, spawns: int, seed: int, tell: Callable[[str], None]) -> Report:
    """Run a trial on the PostgreSQL store at `url` with two servers, or on a fresh SQLite file with one."""
    folder = Path(tempfile.mkdtemp(prefix="carrel-spawns-"))
    with TrialGateway(seed) as gateway:
        address = url or f"sqlite:///{folder / 'carrel.db'}"
        many = {"CARREL_AGENTS__DEFAULTS__SUBAGENTS__MAX_CHILDREN": "1000"}
        servers, said = Servers(folder, address, 2 if url else 1, gateway, **many), Said()
        try:
            kills = await _spawn_and_kill(servers, said, spawns, seed, tell)
            await servers.stop()
            first = await read_evidence(address)
            broken = violations(said, first)
            redelivered, after = await _redeliver(servers, address, first)
            broken += after + await _swept(address, folder)
        finally:
            servers.close()
    if not broken:
        shutil.rmtree(folder)
    states = Counter(found[0] for found in first.exchanges.values())
    states["forgotten with the child"] = sum(one.run_id not in first.exchanges for one in said.spawned)
    return Report(len(said.spawned), kills, dict(states), redelivered, broken, folder if broken else None)


async def _spawn_and_kill(servers: Servers, said: Said, spawns: int, seed: int, tell: Callable[[str], None]) -> int:
    chance, kills = random.Random(seed), 0
    await servers.start()
    token = await _begin(servers)
    clients = [asyncio.create_task(Client(servers, said, token, f"{seed} {at}").work(spawns)) for at in range(CLIENTS)]
    try:
        while len(said.spawned) < spawns:
            await asyncio.wait(clients, timeout=chance.uniform(*SECONDS_BETWEEN_KILLS))
            kills += servers.kill(chance)
            tell(f"{kills} kills, {len(said.spawned)} spawns accepted")
            await servers.start()
        await asyncio.gather(*clients)
    finally:
        for client in clients:
            client.cancel()
    # Once more, while results are still on their way.
    kills += servers.kill(chance)
    await servers.start()
    await _come_to_rest(servers)
    return kills


async def _begin(servers: Servers) -> str:
    """Make the lanes, and a token for their agent."""
    async with _client(servers) as client:
        for lane in LANES:
            await client.post("/api/runs", json={"sessionKey": lane, "message": "hello"})
        made = await client.post("/api/tokens", json={"kind": "agent", "name": "spawner", "agentId": "main"})
        return str(made.json()["secret"])


def _client(servers: Servers) -> httpx.AsyncClient:
    url = servers.pick(random.Random(0))
    return httpx.AsyncClient(base_url=url or "", headers=servers.headers, timeout=ANSWER_SECONDS)


async def _come_to_rest(servers: Servers) -> None:
    """Return once nothing moves for a while, at the latest when the time is up: then the checks will tell."""
    quiet = 0
    async with _client(servers) as client:
        for _ in range(int(REST_SECONDS_MAX / LOOK_SECONDS)):
            live = [
                (await client.get("/api/runs", params={"state": state, "limit": 1})).json()["runs"]
                for state in ("queued", "running")
            ]
            quiet = 0 if any(live) else quiet + 1
            if quiet * LOOK_SECONDS > 2:
                return
            await asyncio.sleep(LOOK_SECONDS)


async def _redeliver(servers: Servers, address: str, first: Evidence) -> tuple[int, list[str]]:
    """Have everything offered again that was not delivered: then it is."""
    undelivered = [run_id for run_id, found in first.exchanges.items() if found[0] == "undelivered"]
    await servers.start()
    async with _client(servers) as client:
        for run_id in undelivered:
            answer = await client.post(f"/api/runs/{run_id}/announce")
            if answer.status_code != 202:
                return 0, [f"{run_id} cannot be delivered again: {answer.text}"]
    await _come_to_rest(servers)
    await servers.stop()
    after = await read_evidence(address)
    broken = [
        f"{run_id} was offered again and is {after.exchanges[run_id][0]}: {after.exchanges[run_id][2]}"
        for run_id in undelivered
        if run_id in after.exchanges and after.exchanges[run_id][0] != "delivered"
    ]
    missing = [
        f"{run_id} was delivered again and is not in its lane"
        for run_id in undelivered
        if after.announced[first.exchanges[run_id][4], first.exchanges[run_id][5]] != 1
    ]
    return len(undelivered), broken + missing


async def _swept(address: str, folder: Path) -> list[str]:
    """What lies in the workspaces once even the youngest stray is old enough to be swept up."""
    folders = await asyncio.to_thread(lambda: list(folder.glob("workspaces/*/*/.openclaw/attachments/*")))
    for path in folders:
        os.utime(path, (0, 0))
    db = open_database(address)
    try:
        await Sweeping(db, Settings(storage=StorageSettings(data_dir=folder))).sweep_strays()
    finally:
        await db.close()
    return [f"{path} is left" for path in folders if path.exists()]
