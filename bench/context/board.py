"""`GET /api/context` of a real server, with recall, while its board grows tenfold and again.

A million entries (`CARREL_BENCH_CONTEXT_ENTRIES=10000,100000,1000000`) take ten minutes to write and to index.
"""

import os
import random
import shutil
import statistics
import tempfile
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
INDEX_SECONDS_MAX, LOAD_SECONDS_MAX = 3_600, 60
# Sorting so many entries is another measurement; recall does not depend on it.
SETTINGS = {"CARREL_CLASSIFIER__MODE": "off"}


class Taken(NamedTuple):
    """How many milliseconds contexts of one board took."""

    full: list[float]
    cheap: list[float]
    # Each after an entry was written and indexed.
    after_writes: list[float]


class Grown(NamedTuple):
    """What was measured on a board of one size, and on the first one in turn with it."""

    entries: int
    taken: Taken
    of_first: Taken
    indexed_per_second: float
    load_seconds: float
    memory_mb: float


def measure(durability: str) -> list[Figure]:
    """The p95 of a full context at each size against the first, of a cheap one against a full one, and what it took."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-context-") as name:
        folder, first = Path(name, "growing"), Path(name, "first")
        folder.mkdir()
        RunningServer(folder, clean_environment(folder, **SETTINGS)).close()
        grown, ingest, written = list[Grown](), list[Figure](), 0
        for size in SIZES:
            uvloop.run(write_entries(_file(folder), durability, written, size))
            with closing(_started(folder)) as server, ExitStack() as beside:
                rate = wait_indexed(server, size - written)
                small = beside.enter_context(closing(_started(first))) if written else server
                grown.append(_look(server, small, size, rate))
                if size == SIZES[-1]:
                    ingest = _ingest(server)
            if not written:
                shutil.copytree(folder, first)
            written = size
    return [*(figure for one in grown for figure in _figures(one, SIZES[0])), *ingest]


def _started(folder: Path) -> RunningServer:
    return RunningServer(folder, clean_environment(folder, **SETTINGS))


def _figures(one: Grown, first: int) -> list[Figure]:
    where = f"{one.entries:,} entries"
    figures = [
        _against_first(one, "full context", one.taken.full, one.of_first.full, first),
        _against_first(one, "full context after a new entry", one.taken.after_writes, one.of_first.after_writes, first),
    ]
    cheap = [(_p95(one.taken.cheap), _p95(one.taken.full))]
    return [
        *figures,
        compared(NAME, f"cheap context among {where}, p95", "ms", cheap, yardstick="full", bar=at_most(1 / 3)),
        plain(NAME, f"indexing up to {where}", "entries/s", one.indexed_per_second),
        plain(NAME, f"first recall after a start with {where}", "s", one.load_seconds),
        plain(NAME, f"memory of the server with {where}", "MB", one.memory_mb),
    ]


def _against_first(one: Grown, what: str, taken: list[float], of_first: list[float], first: int) -> Figure:
    name, note = f"{what} among {one.entries:,} entries, p95", f"p50 {p50(taken):.1f} ms"
    if one.entries == first:
        return plain(NAME, name, "ms", _p95(taken), note=note)
    pairs, yardstick = [(_p95(taken), _p95(of_first))], f"among {first:,}, asked in turn with it"
    return compared(NAME, name, "ms", pairs, yardstick=yardstick, bar=at_most(2), note=note)


def _file(folder: Path) -> str:
    return f"sqlite:///{folder / 'carrel.db'}"


async def write_entries(url: str, durability: str, first: int, last: int) -> None:
    """Record entries first to last as a server does, while it is stopped."""
    tell(f"context: writing {last - first:,} entries")
    db = open_store(url, durability=durability)
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


def wait_indexed(server: RunningServer, new: int) -> float:
    """Wait until the index has caught up; return how many entries a second that is."""
    tell(f"context: indexing {new:,} entries")
    begun = time.perf_counter()
    with server.client() as client:
        _wait_for_index(client)
    return new / (time.perf_counter() - begun)


def _look(server: RunningServer, small: RunningServer, size: int, rate: float) -> Grown:
    tell(f"context: {ASKED} contexts of each kind among {size:,} entries")
    boards = {small.url: Taken([], [], []), server.url: Taken([], [], [])}
    with small.client() as on_small, server.client() as on_large:
        clients = {small.url: on_small, server.url: on_large}
        load_seconds = [wait_for_recall(client) for client in clients.values()][-1]
        # In turn, so that a slow moment of the machine is a slow moment of both.
        chance = random.Random(size)
        for url in [*clients] * ASKED:
            boards[url].full.append(ask(clients[url], chance, "full"))
            boards[url].cheap.append(ask(clients[url], chance, "cheap"))
        for url in [*clients] * ASKED:
            _post(clients[url], chance, f"bench-{chance.randrange(SESSIONS)}", 1)
            _wait_for_index(clients[url])
            boards[url].after_writes.append(ask(clients[url], chance, "full"))
    memory = resident_mb(server.started.pid)
    return Grown(size, boards[server.url], boards[small.url], rate, load_seconds, memory)


def wait_for_recall(client: httpx.Client) -> float:
    """Ask until recall answers; return how many seconds that took."""
    begun = time.perf_counter()
    while "degraded" in _context(client, {"q": "w1 w2 w3", "mode": "full"})["data"]:
        if time.perf_counter() > begun + LOAD_SECONDS_MAX:
            raise SystemExit("context: recall does not answer")
    return time.perf_counter() - begun


def ask(client: httpx.Client, chance: random.Random, mode: str) -> float:
    """Return how many milliseconds an answer took."""
    query = {"sessionKey": f"bench-{chance.randrange(SESSIONS)}", "q": text(chance, 6), "mode": mode}
    begun = time.perf_counter()
    _context(client, query)
    return (time.perf_counter() - begun) * 1000


def _context(client: httpx.Client, query: dict[str, str]) -> Any:
    return client.get("/api/context", params=query).raise_for_status().json()


def _post(client: httpx.Client, chance: random.Random, session: str, entries: int) -> None:
    source = {"channel": "bench", "sessionKey": session}
    logs = [
        {"type": "conversation", "content": text(chance, 20), "agentId": "user", "source": source}
        for _ in range(entries)
    ]
    client.post("/api/ingest", json={"entries": logs}).raise_for_status()


def _ingest(server: RunningServer) -> list[Figure]:
    """How fast a large board takes new entries, and how far the index is behind right after."""
    chance = random.Random(3)
    with server.client() as client:
        tell(f"context: ingesting {INGESTED:,} entries")
        begun = time.perf_counter()
        for start in range(0, INGESTED, PER_REQUEST):
            _post(client, chance, f"bench-{start % SESSIONS}", PER_REQUEST)
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
        time.sleep(0.02)


def _p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[18]


def p50(taken: list[float]) -> float:
    """Return the median."""
    return statistics.median(taken)
