"""Turns: a whole turn of the built-in agent over HTTP, from POST to the end of the wait, beside bare commits."""

import asyncio
import tempfile
from pathlib import Path

import httpx
import uvloop

from bench.engine import CLIENTS, by_clients, engine, rate
from bench.figures import Figure, compared, tell
from tests.running_server import RunningServer, clean_environment

NAME = "turns"
REPEATS = 3
TURNS = 400
COMMITS = 4_000
WAIT_SECONDS = 60


def measure(durability: str) -> list[Figure]:
    """Turns a second by 32 clients, each waiting for its answer; no bar, for the model decides in real life."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-turns-") as name:
        folder = Path(name)
        environment = clean_environment(folder, CARREL_STORAGE__DURABILITY=durability, CARREL_LOG__LEVEL="warning")
        server = RunningServer(folder, environment)
        try:
            pairs = []
            for at in range(REPEATS):
                tell(f"turns: {TURNS} turns and {COMMITS} bare commits, {at + 1} of {REPEATS}")
                commits = uvloop.run(_commits(folder / f"bare-{at}", durability))
                pairs.append((uvloop.run(_turns(server, at)), commits))
        finally:
            server.close()
    return [compared(NAME, "turns over HTTP", "turns/s", pairs, yardstick="one row a commit by 32 clients")]


async def _commits(folder: Path, durability: str) -> float:
    async with engine(folder, durability) as made:
        return await rate(COMMITS, lambda: by_clients([None] * COMMITS, made.insert))


async def _turns(server: RunningServer, at: int) -> float:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=WAIT_SECONDS) as client:

        async def take(lane: str) -> None:
            body = {"sessionKey": f"agent:main:web:{lane}", "message": "What is the time of the meeting?"}
            accepted = await client.post("/api/runs", json=body)
            accepted.raise_for_status()
            run_id = accepted.json()["runId"]
            ended = await client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": WAIT_SECONDS})
            assert ended.json()["status"] == "ok", ended.text

        lanes = [f"bench-{at}-{lane % (2 * CLIENTS):02}" for lane in range(TURNS)]
        async with asyncio.timeout(WAIT_SECONDS * 2):
            return await rate(TURNS, lambda: by_clients(lanes, take))
