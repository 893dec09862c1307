"""The rounds: talk, kill at a random moment, start again; at the end let everything come to rest and check it."""

import asyncio
import json
import random
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.chaos.clients import Follower, Said, Sender
from tests.chaos.gateway import ChaosGateway
from tests.chaos.promises import Evidence, read_evidence, violations
from tests.chaos.servers import ANSWER_SECONDS, LOOK_SECONDS, Servers
from tests.chaos.trials import Report, Tell

LANES = 12
SECONDS_BETWEEN_KILLS = (0.2, 1.5)


async def wreak(url: str | None, rounds: int, seed: int, tell: Tell) -> Report:
    """Run the rounds on the PostgreSQL store at `url` with two servers, or on a fresh SQLite file with one."""
    folder = Path(tempfile.mkdtemp(prefix="carrel-chaos-"))
    with ChaosGateway(seed) as gateway:
        servers = Servers(folder, url, gateway)
        said, follower = Said(), Follower(servers, f"{seed} follower")
        try:
            kills = await _rounds(servers, said, follower, rounds, seed, tell)
            evidence = await read_evidence(servers.store_url)
        finally:
            servers.close()
        broken = violations(said, evidence, gateway.intervals, follower)
        _keep(folder, said, evidence, gateway, follower)
    if not broken:
        shutil.rmtree(folder)
    states = Counter(f"{row[4]} {row[6] or row[7] or ''}".strip() for row in evidence.runs)
    return Report(len(said.runs), kills, dict(states), broken, folder if broken else None)


async def _rounds(servers: Servers, said: Said, follower: Follower, rounds: int, seed: int, tell: Tell) -> int:
    chance, enough, kills = random.Random(seed), asyncio.Event(), 0
    await servers.start()
    following = asyncio.create_task(follower.follow())
    async with asyncio.TaskGroup() as group:
        for at in range(LANES):
            lane = f"chaos-lane-{at:02}"
            group.create_task(Sender(lane, servers, said, f"{seed} {lane}").talk(enough))
        for number in range(1, rounds + 1):
            pause = chance.uniform(*SECONDS_BETWEEN_KILLS)
            await asyncio.sleep(pause)
            killed = servers.kill(chance)
            kills += killed
            tell(f"round {number}: killed {killed} after {pause:.2f} s, {len(said.runs)} messages accepted so far")
            await servers.start()
        enough.set()
    await servers.come_to_rest()
    await _caught_up(servers, follower)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await servers.stop()
    return kills


async def _caught_up(servers: Servers, follower: Follower) -> None:
    """Return once the follower has seen what a fresh look at the feed calls the newest, or the time is up."""
    async with servers.client() as client:
        for _ in range(int(ANSWER_SECONDS / LOOK_SECONDS)):
            follower.until = (await client.get("/api/changes", params={"sinceSeq": 1 << 61})).json()["seq"]
            if follower.seen and follower.seen[-1] >= follower.until:
                return
            await asyncio.sleep(LOOK_SECONDS)


def _keep(folder: Path, said: Said, evidence: Evidence, gateway: ChaosGateway, follower: Follower) -> None:
    """Write down everything the checks looked at."""
    kept = {
        "accepted": [[lane, number, run_id] for (lane, number), run_id in said.runs.items()],
        "store": asdict(evidence),
        "requests": [asdict(interval) for interval in gateway.intervals],
        "followed": follower.seen,
    }
    (folder / "evidence.json").write_text(json.dumps(kept, indent=1, default=str))
