"""`GET /api/context` of a real server, with recall, while its board grows tenfold and again.

A million entries (`CARREL_BENCH_CONTEXT_ENTRIES=10000,100000,1000000`) take half an hour to write and to index.
"""

import os
import random
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import uvloop

from bench.figures import Figure, at_most, compared, plain, tell
from bench.idle import resident_mb
from bench.search import text
from carrel.access import owner_of_default
from carrel.board import LogSource, NewLog, record
from carrel.kernel import Access
from carrel.main.assembly import open_store
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from tests.harness.process import RunningServer, clean_environment

NAME = "context"
SIZES = [int(size) for size in os.environ.get("CARREL_BENCH_CONTEXT_ENTRIES", "10000,100000").split(",")]
SESSIONS, TOPICS, BATCH = 200, 50, 1_000
ASKED = 150
INGESTED, PER_REQUEST = 2_000, 100
INDEX_SECONDS_MAX = 3_600
# Sorting so many entries is another measurement; recall does not depend on it.
_SETTINGS = {"CARREL_CLASSIFIER__MODE": "off"}


class Grown(NamedTuple):
    """What was measured on a board of one size."""

    entries: int
    full: list[float]
    cheap: list[float]
    indexed_per_second: float
    memory_mb: float


def measure(durability: str) -> list[Figure]:
    """The p95 of a full context at each size against the first, of a cheap one against a full one, and what it took."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-context-") as name:
        folder = Path(name)
        environment = clean_environment(folder, **_SETTINGS)
        RunningServer(folder, environment).close()
        grown, ingest, written = list[Grown](), list[Figure](), 0
        for size in SIZES:
            uvloop.run(_write(folder, durability, written, size))
            server = RunningServer(folder, environment)
            try:
                grown.append(_look(server, size, size - written))
                if size == SIZES[-1]:
                    ingest = _ingest(server)
            finally:
                server.close()
            written = size
    return [*(figure for one in grown for figure in _figures(one, grown[0])), *ingest]


def _figures(one: Grown, first: Grown) -> list[Figure]:
    where = f"{one.entries:,} entries"
    cheap_pairs = [(_p95(one.cheap), _p95(one.full))]
    return [
        plain(NAME, f"full context among {where}, p95", "ms", _p95(one.full), note=f"p50 {_p50(one.full):.1f} ms")
        if one is first
        else compared(
            NAME, f"full context among {where}, p95", "ms", [(_p95(one.full), _p95(first.full))],
            yardstick=f"among {first.entries:,}", bar=at_most(2), note=f"p50 {_p50(one.full):.1f} ms",
        ),
        compared(
            NAME, f"cheap context among {where}, p95", "ms", cheap_pairs, yardstick="full", bar=at_most(1 / 3)
        ),
        plain(NAME, f"indexing up to {where}", "entries/s", one.indexed_per_second),
        plain(NAME, f"memory of the server with {where}", "MB", one.memory_mb),
    ]  # fmt: skip


async def _write(folder: Path, durability: str, first: int, last: int) -> None:
    """Record entries first to last as a server does, while it is stopped."""
    tell(f"context: writing {last - first:,} entries")
    db = open_store(f"sqlite:///{folder / 'carrel.db'}", durability=durability)
    chance = random.Random(first)
    try:
        access = await db.read(owner_of_default)
        if not first:
            for at in range(TOPICS):
                await db.write(partial(put_topic, access=access, new=NewTopic(name=f"Topic {at}", id=f"topic-{at}")))
        for start in range(first, last, BATCH):
            await db.write(partial(_record, access=access, numbers=range(start, start + BATCH), chance=chance))
    finally:
        await db.close()


def _record(tx: Tx, access: Access, numbers: range, chance: random.Random) -> None:
    for n in numbers:
        source = LogSource(channel="bench", session_key=f"bench-{n % SESSIONS}")
        said = NewLog(
            type="conversation", content=text(chance, 20), agent_id="user" if n % 2 else "main", source=source,
            topic_id=f"topic-{n % TOPICS}",
        )  # fmt: skip
        record(tx, access, said)


def _look(server: RunningServer, size: int, new: int) -> Grown:
    with server.client() as client:
        tell(f"context: indexing {new:,} entries")
        begun = time.perf_counter()
        _wait_for_index(client)
        rate = new / (time.perf_counter() - begun)
        chance = random.Random(size)
        tell(f"context: {ASKED} contexts of each kind among {size:,} entries")
        _ask(client, chance, "full")
        full, cheap = list[float](), list[float]()
        for _ in range(ASKED):
            full.append(_ask(client, chance, "full"))
            cheap.append(_ask(client, chance, "cheap"))
    return Grown(size, full, cheap, rate, resident_mb(server.started.pid))


def _ask(client: httpx.Client, chance: random.Random, mode: str) -> float:
    """Return how many milliseconds an answer took."""
    query = {"sessionKey": f"bench-{chance.randrange(SESSIONS)}", "q": text(chance, 6), "mode": mode}
    begun = time.perf_counter()
    client.get("/api/context", params=query).raise_for_status()
    return (time.perf_counter() - begun) * 1000


def _ingest(server: RunningServer) -> list[Figure]:
    """How fast a large board takes new entries, and how far the index is behind right after."""
    chance = random.Random(3)
    with server.client() as client:
        tell(f"context: ingesting {INGESTED:,} entries")
        begun = time.perf_counter()
        for start in range(0, INGESTED, PER_REQUEST):
            source = {"channel": "bench", "sessionKey": f"bench-{start % SESSIONS}"}
            logs = [
                {"type": "conversation", "content": text(chance, 20), "agentId": "user", "source": source}
                for _ in range(PER_REQUEST)
            ]
            client.post("/api/ingest", json={"entries": logs}).raise_for_status()
        accepted = INGESTED / (time.perf_counter() - begun)
        lag = client.get("/api/health").json()["index"]
        begun = time.perf_counter()
        _wait_for_index(client)
    return [
        plain(NAME, "ingest", "entries/s", accepted),
        plain(NAME, "index behind after that", "s", lag["lagSeconds"], note=f"{lag['pending']:,} events"),
        plain(NAME, "index has caught up after", "s", time.perf_counter() - begun),
    ]


def _wait_for_index(client: httpx.Client) -> None:
    ends_at = time.perf_counter() + INDEX_SECONDS_MAX
    while client.get("/api/health").json()["index"]["pending"]:
        if time.perf_counter() > ends_at:
            raise SystemExit("context: the index did not catch up")
        time.sleep(0.05)


def _p95(took: list[float]) -> float:
    return statistics.quantiles(took, n=20)[18]


def _p50(took: list[float]) -> float:
    return statistics.median(took)
