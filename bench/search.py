"""Search: the processor time of a query among 100,000 entries, in scopes of 3 % and of 30 % of them; and what runs of
lanes lose while 32 clients search.

A million (`CARREL_BENCH_SEARCH_ENTRIES=1000000`) take some minutes to index.
"""

import asyncio
import os
import random
import resource
import statistics
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import uvloop

from bench.engine import CLIENTS, BenchEngine, open_bench, rate
from bench.figures import Figure, at_least, at_most, compared, plain, tell
from bench.stores import POSTGRES, SQLITE, named_after, on_postgres
from carrel.kernel import Refusal, elapsed_seconds
from carrel.kernel.settings import SearchSettings
from carrel.search import Document, Search, SearchQuery
from carrel.search.embedders import Embedder
from carrel.search.indexing import put_document
from carrel.search.vectors import Floats, Vectors, vectors_of
from carrel.storage import LongTx, Tx
from carrel.visibility import Viewer

NAME = "search"
ENTRIES = int(os.environ.get("CARREL_BENCH_SEARCH_ENTRIES", "100000"))
QUERIES = 200
BATCH = 1_000
WORDS = 50_000
DIMENSIONS = 256
LANES = 64
# Some seconds: the first searches begin unhindered, and must not decide the figure.
RUNS = 10_000
REPEATS = 3
TICK_SECONDS = 0.002
# The share of each space in all entries; two of them are searched.
SPACES = {"narrow": 0.03, "wide": 0.30, "rest": 0.67}
BARS_MS = {"narrow": 60.0, "wide": 150.0}
_EPOCH_MS = 1_700_000_000_000


class RandomMeanings:
    """Vectors without any meaning: what they cost is measured, not what they find."""

    model = f"random/{DIMENSIONS}"

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)

    async def embed(self, texts: list[str]) -> Floats:
        """Return a vector for each text."""
        return self.some(len(texts))

    def some(self, count: int) -> Floats:
        """Return random vectors."""
        return self._chance.standard_normal((count, DIMENSIONS), dtype=np.float32)


def measure(durability: str, stores: tuple[str, ...] = (SQLITE, POSTGRES)) -> list[Figure]:
    """The p95 of the processor time of one query, for each scope; how long indexing took, and how much memory."""
    figures: list[Figure] = []
    if SQLITE in stores:
        with tempfile.TemporaryDirectory(prefix="carrel-bench-search-") as name:
            figures += uvloop.run(_measure(Path(name), durability))
    if POSTGRES in stores:
        figures += on_postgres(
            NAME,
            durability,
            lambda server: named_after(POSTGRES, uvloop.run(_measure(server.create_database(), durability))),
        )
    return figures


async def _measure(where: str | Path, durability: str) -> list[Figure]:
    async with open_bench(where, durability) as made:
        tell(f"search: indexing {ENTRIES:,} entries")
        begun, meanings = elapsed_seconds(), RandomMeanings()
        await _furnish(made, meanings)
        rate = ENTRIES / (elapsed_seconds() - begun)
        search = Search(made.db, meanings, SearchSettings())
        begun = elapsed_seconds()
        await search.find(made.access, SearchQuery(text="warm", viewer=Viewer(recalls_board=True)))
        loaded = elapsed_seconds() - begun
        figures = [await _queries(made, search, meanings, space, bar) for space, bar in BARS_MS.items()]
        figures += await _beside_lanes(made, search)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        *figures,
        plain(NAME, f"indexing {ENTRIES:,} entries", "documents/s", rate),
        plain(NAME, "loading the figures of all entries", "s", loaded),
        plain(NAME, "peak memory", "MB", memory),
    ]


async def _furnish(made: BenchEngine, meanings: RandomMeanings) -> None:
    chance = random.Random(1)
    spaces, shares = list(SPACES), list(SPACES.values())

    def some(tx: Tx, first: int, vectors: list[Vectors]) -> None:
        for at in range(BATCH):
            n = first + at
            space = chance.choices(spaces, shares)[0]
            entry = Document(
                kind="log", id=f"e{n}", text=text(chance, 20), at=_EPOCH_MS + n, speaker=f"agent{n % 20}",
                spaces=(space,), topic_id=f"t{n % 100}", on_board=True, sequence=n,
                session_key=f"agent:main:{space}:{n // 5_000}",
            )  # fmt: skip
            put_document(tx, made.access, entry, vectors[at])

    for first in range(0, ENTRIES, BATCH):
        vectors = vectors_of(meanings.model, meanings.some(BATCH), [1] * BATCH)
        await made.db.write(partial(some, first=first, vectors=vectors))


async def _queries(made: BenchEngine, search: Search, meanings: Embedder, space: str, bar_ms: float) -> Figure:
    chance, took = random.Random(2), []

    def timed(tx: LongTx, query: SearchQuery, vector: Floats) -> float:
        begun = _thread_seconds()
        search.search(tx, made.access, query, meanings.model, vector)
        return (_thread_seconds() - begun) * 1000

    tell(f"search: {QUERIES} queries in {space}")
    for _ in range(QUERIES):
        query = SearchQuery(text=text(chance, 6), viewer=Viewer(spaces=(space,), recalls_board=True), names=("agent7",))
        (vector,) = await meanings.embed([query.text])
        took.append(await made.db.long_read(partial(timed, query=query, vector=vector)))
    name = f"one query in {SPACES[space]:.0%} of {ENTRIES:,} entries, p95 of the processor time"
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[18]
    return plain(NAME, name, "ms", p95, bar=at_most(bar_ms), note=f"p50 {p50:.1f} ms")


async def _beside_lanes(made: BenchEngine, search: Search) -> list[Figure]:
    """How many runs end beside 32 clients that search without a pause, against none; and how late the loop is then."""
    tell(f"search: {RUNS} runs over {LANES} lanes beside {CLIENTS} searching clients, in turn with none")
    lanes = [f"lane-{at % LANES}" for at in range(RUNS)]
    pairs, late, busy = list[tuple[float, float]](), list[float](), Counter[str]()

    async def work() -> None:
        await made.send_all(lanes)
        await made.drained()

    async with made.working():
        for _ in range(REPEATS):
            alone = await rate(RUNS, work)
            async with asyncio.TaskGroup() as group:
                clients = [group.create_task(_search_on(made, search, at, busy)) for at in range(CLIENTS)]
                clients.append(group.create_task(_lateness(late)))
                pairs.append((await rate(RUNS, work), alone))
                for client in clients:
                    client.cancel()
    p99 = statistics.quantiles(late, n=100)[98]
    note = f"{busy['found']} searches, {busy['refused']} told to come back"
    return [
        compared(NAME, f"runs over {LANES} lanes beside {CLIENTS} searching clients", "runs/s", pairs,
                 yardstick="without them", bar=at_least(0.7), note=note),
        plain(NAME, "lateness of the loop then, p99", "ms", p99, bar=at_most(20)),
    ]  # fmt: skip


async def _search_on(made: BenchEngine, search: Search, seed: int, count: Counter[str]) -> None:
    chance = random.Random(seed)
    while True:
        try:
            await search.find(
                made.access, SearchQuery(text=text(chance, 6), viewer=Viewer(spaces=("narrow",), recalls_board=True))
            )
            count["found"] += 1
        except Refusal:
            count["refused"] += 1


async def _lateness(late: list[float]) -> None:
    """Measure how much later than asked for the loop wakes a sleeper."""
    while True:
        begun = elapsed_seconds()
        await asyncio.sleep(TICK_SECONDS)
        late.append((elapsed_seconds() - begun - TICK_SECONDS) * 1000)


def _thread_seconds() -> float:
    """The processor time of this thread: what a query costs, whatever else goes on."""
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_utime + used.ru_stime


def text(chance: random.Random, words: int) -> str:
    """Return words as in a language: few are in many texts, and most in few."""
    return " ".join(f"w{int(WORDS * chance.random() ** 4)}" for _ in range(words))
