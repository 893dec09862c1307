"""Idle: what a server costs that has nothing to do, and how soon it is there."""

import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, at_most, plain, tell
from tests.harness.process import CARREL, RunningServer, clean_environment

NAME = "idle"
READY_SECONDS_MAX = 3
MEMORY_MB_MAX = 150
SEARCHED_MEMORY_MB_MAX = 300
CPU_PERCENT_MAX = 1
HELP_SECONDS_MAX = 0.3
SETTLE_SECONDS = 3
WATCH_SECONDS = 20
STARTS = 3
_MB = 1024 * 1024


def measure(_durability: str) -> list[Figure]:
    """Start, memory, processor time at rest, and the command line's help."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-idle-") as name:
        folder = Path(name)
        environment = clean_environment(folder)
        RunningServer(folder, environment).close()
        tell("idle: starting on an existing database")
        starts = [_start_seconds(folder, environment) for _ in range(STARTS)]
        server = RunningServer(folder, environment)
        try:
            tell(f"idle: watching for {WATCH_SECONDS} s")
            time.sleep(SETTLE_SECONDS)
            before = _cpu_seconds(server.started.pid)
            time.sleep(WATCH_SECONDS)
            percent = (_cpu_seconds(server.started.pid) - before) / WATCH_SECONDS * 100
            memory = resident_mb(server.started.pid)
            with server.client() as client:
                client.get("/api/search", params={"q": "this loads the model for meanings"}).raise_for_status()
            searched = resident_mb(server.started.pid)
        finally:
            server.close()
        helped = statistics.median(_help_cpu_seconds(environment) for _ in range(STARTS))
    return [
        plain(NAME, "ready after", "s", statistics.median(starts), bar=at_most(READY_SECONDS_MAX)),
        plain(NAME, "resident memory", "MB", memory, bar=at_most(MEMORY_MB_MAX)),
        plain(NAME, "resident memory after a search", "MB", searched, bar=at_most(SEARCHED_MEMORY_MB_MAX)),
        plain(NAME, "processor at rest", "% of a core", percent, bar=at_most(CPU_PERCENT_MAX)),
        plain(NAME, "carrel --help", "s of processor", helped, bar=at_most(HELP_SECONDS_MAX)),
    ]


def _start_seconds(folder: Path, environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    server = RunningServer(folder, environment)
    taken = time.perf_counter() - begun
    server.close()
    return taken


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Return the memory that a process takes up now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MB


def _help_cpu_seconds(environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([CARREL, "--help"], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
