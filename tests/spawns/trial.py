"""The trial: spawn, kill, interfere; then let everything settle, check it, and redeliver what was undelivered."""

import asyncio
import os
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from carrel.kernel.settings import Settings, StorageSettings
from carrel.storage import open_database
from carrel.tools import Cleanup
from tests.chaos.servers import Servers
from tests.chaos.trials import Report, Tell
from tests.spawns.checks import Evidence, read_evidence, violations
from tests.spawns.clients import LANES, Client, Said
from tests.spawns.model import TrialGateway

CLIENTS = 8
SECONDS_BETWEEN_KILLS = (1.0, 3.0)
# Between the end of one run and the start of the next, a result may be in transit.
QUIET_SECONDS = 2.0


async def try_spawns(url: str | None, spawns: int, seed: int, tell: Tell) -> Report:
    """Run a trial on the PostgreSQL store at `url` with two servers, or on a fresh SQLite file with one."""
    folder = Path(tempfile.mkdtemp(prefix="carrel-spawns-"))
    with TrialGateway(seed) as gateway:
        many = {"CARREL_AGENTS__DEFAULTS__SUBAGENTS__MAX_CHILDREN": "1000"}
        servers, said = Servers(folder, url, gateway, **many), Said()
        try:
            kills = await _spawn_and_kill(servers, said, spawns, seed, tell)
            await servers.stop()
            first = await read_evidence(servers.store_url)
            broken = violations(said, first)
            redelivered, after = await _redeliver(servers, first)
            broken += after + await _swept(servers.store_url, folder)
        finally:
            servers.close()
    if not broken:
        shutil.rmtree(folder)
    states = Counter(found[0] for found in first.exchanges.values())
    states["forgotten with the child"] = sum(one.run_id not in first.exchanges for one in said.spawned)
    states["offered again"] = redelivered
    return Report(len(said.spawned), kills, dict(states), broken, folder if broken else None)


async def _spawn_and_kill(servers: Servers, said: Said, spawns: int, seed: int, tell: Tell) -> int:
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
    await servers.come_to_rest(QUIET_SECONDS)
    return kills


async def _begin(servers: Servers) -> str:
    """Create the lanes, and a token for their agent."""
    async with servers.client() as client:
        for lane in LANES:
            await client.post("/api/runs", json={"sessionKey": lane, "message": "hello"})
        made = await client.post("/api/tokens", json={"kind": "agent", "name": "spawner", "agentId": "main"})
        return str(made.json()["secret"])


async def _redeliver(servers: Servers, first: Evidence) -> tuple[int, list[str]]:
    """Redeliver everything that was undelivered."""
    undelivered = [run_id for run_id, found in first.exchanges.items() if found[0] == "undelivered"]
    await servers.start()
    async with servers.client() as client:
        for run_id in undelivered:
            answer = await client.post(f"/api/runs/{run_id}/announce")
            if answer.status_code != 202:
                return 0, [f"{run_id} cannot be delivered again: {answer.text}"]
    await servers.come_to_rest(QUIET_SECONDS)
    await servers.stop()
    after = await read_evidence(servers.store_url)
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
    """Return what is left in the workspaces once all stray folders are old enough to be removed."""
    folders = await asyncio.to_thread(lambda: list(folder.glob("workspaces/*/*/.openclaw/attachments/*")))
    for path in folders:
        os.utime(path, (0, 0))
    db = open_database(address)
    try:
        await Cleanup(db, Settings(storage=StorageSettings(data_dir=folder))).sweep_strays()
    finally:
        await db.close()
    return [f"{path} is left" for path in folders if path.exists()]
