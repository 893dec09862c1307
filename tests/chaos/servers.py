"""The servers of a trial: one on SQLite, two on PostgreSQL; killed as a power cut would and started again."""

import asyncio
import random
from pathlib import Path

import httpx

from tests.harness.process import RunningServer, clean_environment, reaching
from tests.scripted_gateway import ScriptedGateway

# A lost worker's runs are free after this; the default would only make the rounds longer.
LEASE_SECONDS = 3
REPLAY_MAX = 1_000_000
ANSWER_SECONDS = 20.0
REST_SECONDS_MAX = 240.0
LOOK_SECONDS = 0.2


class Servers:
    """The processes that share one store; a place whose process is dead has no address."""

    def __init__(self, folder: Path, url: str | None, gateway: ScriptedGateway, **more: str) -> None:
        """On the PostgreSQL store at `url`, else on a SQLite file in the folder."""
        self.token = ""
        self.store_url = url or f"sqlite:///{folder / 'carrel.db'}"
        self._folder = folder
        self._places: list[RunningServer | None] = [None] * (2 if url else 1)
        self._environment = clean_environment(
            folder,
            CARREL_STORAGE__URL=self.store_url,
            CARREL_RUNS__LEASE_SECONDS=str(LEASE_SECONDS),
            CARREL_EVENTS__REPLAY_MAX=str(REPLAY_MAX),
            CARREL_LOG__LEVEL="warning",
            **reaching(gateway),
            **more,
        )

    @property
    def headers(self) -> dict[str, str]:
        """What makes a request ours."""
        return {"Authorization": f"Bearer {self.token}"}

    def pick(self, chance: random.Random) -> str | None:
        """The address of one that was started and not killed, None while there is none."""
        alive = [server for server in self._places if server is not None]
        return chance.choice(alive).url if alive else None

    def client(self) -> httpx.AsyncClient:
        """A client of one that was not killed."""
        url = self.pick(random.Random(0))
        return httpx.AsyncClient(base_url=url or "", headers=self.headers, timeout=ANSWER_SECONDS)

    async def come_to_rest(self, quiet_seconds: float = 0.0) -> None:
        """Return once nothing was queued or running for so long, or when the time is up: then the checks will tell."""
        quiet = 0
        async with self.client() as client:
            for _ in range(int(REST_SECONDS_MAX / LOOK_SECONDS)):
                live = [
                    (await client.get("/api/runs", params={"state": state, "limit": 1})).json()["runs"]
                    for state in ("queued", "running")
                ]
                quiet = 0 if any(live) else quiet + 1
                if quiet * LOOK_SECONDS > quiet_seconds:
                    return
                await asyncio.sleep(LOOK_SECONDS)

    async def start(self) -> None:
        """Start whatever is not there."""
        for at, server in enumerate(self._places):
            if server is None:
                started = await asyncio.to_thread(RunningServer, self._folder, self._environment)
                self.token = started.token
                self._places[at] = started

    def kill(self, chance: random.Random) -> int:
        """Kill one, or now and then all of them, this instant; how many."""
        doomed = [at for at, server in enumerate(self._places) if server is not None]
        if chance.random() < 0.7:
            doomed = [chance.choice(doomed)]
        for at in doomed:
            server, self._places[at] = self._places[at], None
            assert server is not None
            server.kill()
            server.close()
        return len(doomed)

    async def stop(self) -> list[int]:
        """Stop all of them in good order; their exit statuses."""
        alive = [server for server in self._places if server is not None]
        statuses = await asyncio.gather(*(asyncio.to_thread(server.stop) for server in alive))
        self.close()
        return list(statuses)

    def close(self) -> None:
        """Leave nothing running."""
        for at, server in enumerate(self._places):
            if server is not None:
                server.close()
                self._places[at] = None
