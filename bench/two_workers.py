"""PostgreSQL: one worker process against two on the same store; what they did is checked in the stored rows."""

import asyncio
import sys
from itertools import pairwise

import uvloop

from bench.engine import BenchEngine, open_bench, rate
from bench.figures import Figure, at_least, at_most, compared, plain, skipped, tell
from carrel.storage import Row
from tests.postgres import PostgresMissing, PostgresServer, postgres_server

REPEATS = 5
LANES = 64
RUNS = 1_500
READY = b"ready\n"
_ENDED = ("run.completed", "run.failed", "run.cancelled")


def measure(benchmark: str) -> list[Figure]:
    """The rates of one and of two workers, in turn, and what the store says of overlap and order."""
    tell("lanes: PostgreSQL with one and two worker processes")
    try:
        with postgres_server(fsync=True) as server:
            return uvloop.run(_figures(benchmark, server))
    except PostgresMissing as missing:
        return [skipped(benchmark, "two workers on PostgreSQL", str(missing))]


async def _figures(benchmark: str, server: PostgresServer) -> list[Figure]:
    pairs, faults = [], []
    for _ in range(REPEATS):
        one, _ = await _drain(server.create_database(), 1)
        two, found = await _drain(server.create_database(), 2)
        pairs.append((two, one))
        faults += found
    return [
        compared(benchmark, "two workers on PostgreSQL", "runs/s", pairs, yardstick="one worker", bar=at_least(0.9)),
        plain(benchmark, "overlaps and breaks of order", "", len(faults), bar=at_most(0), note="; ".join(faults[:3])),
    ]


async def _drain(url: str, workers: int) -> tuple[float, list[str]]:
    """Queue the runs, then let the workers drain them: runs a second, and what went wrong."""
    async with open_bench(url, "full") as made:
        await made.send_all([f"lane-{at % LANES}" for at in range(RUNS)])
        started = [await _worker(url, f"worker-{at}") for at in range(workers)]
        try:
            for worker in started:
                assert worker.stdin is not None
                worker.stdin.write(b"go\n")
            runs_per_second = await rate(RUNS, made.drained)
        finally:
            for worker in started:
                worker.kill()
                await worker.wait()
        return runs_per_second, await _faults(made)


async def _worker(url: str, name: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "bench.two_workers", url, name)
    worker = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    async with asyncio.timeout(30):
        assert await worker.stdout.readline() == READY
    return worker


async def _faults(made: BenchEngine) -> list[str]:
    events = await made.db.read(
        lambda tx: tx.all("SELECT key, name, run_id FROM events WHERE name LIKE 'run.%' ORDER BY seq")
    )
    order = await made.db.read(lambda tx: tx.all("SELECT id, seq FROM runs"))
    return faults_in(events, {row[0]: row[1] for row in order})


def faults_in(events: list[Row], place: dict[str, int]) -> list[str]:
    """Every start beside a running run of its lane, and every start before an older one of its lane."""
    found: list[str] = []
    running: dict[str, str] = {}
    starts: dict[str, list[int]] = {}
    for key, name, run_id in events:
        if name == "run.started":
            if key in running:
                found.append(f"{run_id} started beside {running[key]}")
            running[key] = run_id
            starts.setdefault(key, []).append(place[run_id])
        elif name in _ENDED and running.get(key) == run_id:
            del running[key]
    found += [f"{key} out of order" for key, taken in starts.items() if any(b < a for a, b in pairwise(taken))]
    return found


async def _work(url: str, name: str) -> None:
    """A worker process: work until killed, once told to go."""
    async with open_bench(url, "full") as made:
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        await asyncio.to_thread(sys.stdin.readline)
        async with made.working(worker=name):
            await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_work(*sys.argv[1:]))
