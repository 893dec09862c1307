"""Lanes: the engine alone, with a handler that does nothing, against bare durable commits through the same writer."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench import dbos_peer, two_workers
from bench.engine import BenchEngine, answer_at_once, by_clients, open_bench, rate
from bench.figures import Bar, Figure, at_least, at_most, compared, tell
from carrel.kernel import elapsed_seconds
from carrel.runs import Claim, Outcome

NAME = "lanes"
REPEATS = 5
LANES = 64
RUNS = 4_000
MANY_LANES = 10_000
WAITING = 9_999
LONE_COMMITS = 300
LONE_RUNS = 300
FSYNCS = 51
SLOW_FSYNC_MS = 2
BUSY = "busy"
_ONE_COMMIT = "one bare commit, p50"
_CLIENT_WRITES = "one row a commit by 32 clients"


def measure(durability: str) -> list[Figure]:
    """Every figure of this benchmark; the loop is the server's own kind."""
    import uvloop

    return [*uvloop.run(_figures(durability)), *dbos_peer.measure(NAME), *two_workers.measure(NAME)]


async def _figures(durability: str) -> list[Figure]:
    tell(f"lanes: 64 lanes and bare commits, in turn ({durability})")
    fsync_ms = _fsync_ms()
    few = [await _few_lanes(durability) for _ in range(REPEATS)]
    tell("lanes: 10,000 lanes")
    many = [await _many_lanes(durability) for _ in range(3)]
    tell("lanes: 9,999 waiting in one busy lane")
    busy = [await _one_busy_lane(durability) for _ in range(3)]
    beside, alone = [pairs[0] for pairs in busy], [pairs[1] for pairs in busy]
    tell("lanes: start of a lone run")
    # In turn, so that the two say what making a lane costs.
    starts = [[await _start_latency(durability, lanes) for lanes in (LANES, LONE_RUNS)] for _ in range(3)]
    known, first = [pair[0] for pair in starts], [pair[1] for pair in starts]
    return [
        compared(
            NAME,
            "runs over 64 lanes",
            "runs/s",
            few,
            yardstick=_CLIENT_WRITES,
            bar=_bar(fsync_ms),
            note=f"an fsync takes {fsync_ms:.2g} ms",
        ),
        compared(NAME, "10,000 lanes with one run each", "runs/s", many, yardstick="64 lanes", bar=at_least(0.5)),
        compared(
            NAME, "other lanes beside 9,999 waiting in one", "runs/s", beside, yardstick="without", bar=at_least(0.5)
        ),
        compared(NAME, "one lane alone drains", "runs/s", alone, yardstick="lone commits", bar=at_least(0.5)),
        compared(NAME, "start of a lone run in a known lane, p50", "ms", known, yardstick=_ONE_COMMIT, bar=at_most(3)),
        compared(NAME, "start of the first run of a new lane, p50", "ms", first, yardstick=_ONE_COMMIT),
    ]


def _fsync_ms() -> float:
    """How long one fsync takes here, the median."""
    taken = []
    with tempfile.TemporaryFile() as file:
        for _ in range(FSYNCS):
            file.write(b"0" * 4096)
            file.flush()
            began = elapsed_seconds()
            os.fsync(file.fileno())
            taken.append((elapsed_seconds() - began) * 1000)
    return statistics.median(taken)


def _bar(fsync_ms: float) -> Bar:
    """Both sides wait for the disk; where it answers at once, a run's own work is all that is left of the ratio."""
    return at_least(0.25 if fsync_ms >= SLOW_FSYNC_MS else 0.1)


@asynccontextmanager
async def _fresh(durability: str) -> AsyncIterator[BenchEngine]:
    with tempfile.TemporaryDirectory(prefix="carrel-bench-") as folder:
        async with open_bench(Path(folder), durability) as made:
            yield made


def _spread(runs: int, lanes: int) -> list[str]:
    return [f"lane-{at % lanes}" for at in range(runs)]


async def _runs_rate(made: BenchEngine, lanes: list[str]) -> float:
    async def work() -> None:
        await made.send_all(lanes)
        await made.drained()

    return await rate(len(lanes), work)


async def _few_lanes(durability: str) -> tuple[float, float]:
    async with _fresh(durability) as made:
        commits = await rate(RUNS, lambda: by_clients([None] * RUNS, made.insert))
        async with made.working():
            return await _runs_rate(made, _spread(RUNS, LANES)), commits


async def _many_lanes(durability: str) -> tuple[float, float]:
    async with _fresh(durability) as made, made.working():
        few = await _runs_rate(made, _spread(RUNS, LANES))
        return await _runs_rate(made, [f"many-{at}" for at in range(MANY_LANES)]), few


async def _one_busy_lane(durability: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """(other lanes beside it, without it) and (that lane draining alone, lone commits)."""
    held, release = asyncio.Event(), asyncio.Event()

    async def handler(run: Claim) -> Outcome:
        if run.key.endswith(BUSY) and not release.is_set():
            held.set()
            await release.wait()
        return await answer_at_once(run)

    async with _fresh(durability) as made:
        async with made.working(handler):
            without = await _runs_rate(made, _spread(RUNS, LANES))
            await made.send(BUSY)
            await held.wait()
            await made.send_all([BUSY] * WAITING)
            beside = await rate(RUNS, lambda: _others(made))
            before = await _lone_commits(made)
            release.set()
            drained = await rate(WAITING + 1, made.drained)
            after = await _lone_commits(made)
        # The disk's mood changes within the seconds that a drain takes, so both sides of it are asked.
        return (beside, without), (drained, (before + after) / 2)


async def _lone_commits(made: BenchEngine) -> float:
    return await rate(LONE_COMMITS, lambda: by_clients([None] * LONE_COMMITS, made.insert, 1))


async def _others(made: BenchEngine) -> None:
    await made.send_all(_spread(RUNS, LANES))
    await made.drained(besides=BUSY)


async def _start_latency(durability: str, lanes: int) -> tuple[float, float]:
    """Milliseconds from saying something to an idle engine to its start, and of one bare commit, each the median."""
    started: asyncio.Queue[float] = asyncio.Queue()

    async def handler(run: Claim) -> Outcome:
        started.put_nowait(elapsed_seconds())
        return await answer_at_once(run)

    starts, commits = [], []
    async with _fresh(durability) as made, made.working(handler):
        for at in range(LONE_RUNS):
            begun = elapsed_seconds()
            await made.send(f"lone-{at % lanes}")
            starts.append((await started.get() - begun) * 1000)
            await made.drained()
            begun = elapsed_seconds()
            await made.insert()
            commits.append((elapsed_seconds() - begun) * 1000)
    return statistics.median(starts), statistics.median(commits)
