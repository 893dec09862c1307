"""DBOS on SQLite, the nearest peer: its queue with one run at a time per lane, in an environment of its own.

It is no dependency: it is installed into a throwaway environment, and where that does not work the figure is skipped.
"""

import statistics
import subprocess
import tempfile
import venv
from pathlib import Path

import uvloop

from bench.engine import open_bench, rate
from bench.figures import Figure, at_least, compared, skipped, tell

LANES = 32
RUNS = 320
REPEATS = 3
INSTALL_SECONDS = 180
RUN_SECONDS = 120
_NAME = "against DBOS on SQLite, 32 lanes"

# Run by the peer's own interpreter; prints how many runs a second it finished.
_PROGRAM = """
import sys, time
from dbos import DBOS, SetEnqueueOptions
DBOS(config={"name": "bench", "system_database_url": "sqlite:///" + sys.argv[1], "log_level": "ERROR"})
lanes, runs = int(sys.argv[2]), int(sys.argv[3])

@DBOS.workflow()
def nothing(number):
    return number

DBOS.launch()
DBOS.register_queue("lanes", partition_concurrency=1, polling_interval_sec=0.01)
begun = time.perf_counter()
handles = []
for number in range(runs):
    with SetEnqueueOptions(queue_partition_key=str(number % lanes)):
        handles.append(DBOS.enqueue_workflow("lanes", nothing, number))
for handle in handles:
    handle.get_result()
print("rate", runs / (time.perf_counter() - begun), flush=True)
import os
os._exit(0)
"""


def measure(benchmark: str) -> list[Figure]:
    """Ours against theirs, in turn; skipped with the reason where theirs cannot be had."""
    tell("lanes: DBOS on SQLite")
    with tempfile.TemporaryDirectory(prefix="carrel-bench-dbos-") as name:
        folder = Path(name)
        try:
            python = _install(folder)
            pairs = [(uvloop.run(_ours(folder / f"ours-{at}")), _theirs(python, folder, at)) for at in range(REPEATS)]
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            return [skipped(benchmark, _NAME, _why(error))]
    against = statistics.median(theirs for _, theirs in pairs)
    tell(f"lanes: DBOS finished {against:.0f} runs a second")
    return [compared(benchmark, _NAME, "runs/s", pairs, yardstick="DBOS", bar=at_least(10))]


def _install(folder: Path) -> Path:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "dbos"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    return python


def _theirs(python: Path, folder: Path, at: int) -> float:
    words = [str(python), "-c", _PROGRAM, str(folder / f"dbos-{at}.sqlite"), str(LANES), str(RUNS)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=RUN_SECONDS, cwd=folder)
    said = [line for line in done.stdout.splitlines() if line.startswith("rate ")]
    if not said:
        raise ValueError(f"DBOS gave no rate: {done.stdout[-200:]}")
    return float(said[-1].split()[1])


async def _ours(folder: Path) -> float:

    async def work() -> None:
        await made.send_all([f"lane-{at % LANES}" for at in range(RUNS)])
        await made.drained()

    async with open_bench(folder, "full") as made, made.working():
        return await rate(RUNS, work)


def _why(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    last = str(said).strip().splitlines()[-1:] or [type(error).__name__]
    return f"DBOS could not be measured here: {last[0][:200]}"
