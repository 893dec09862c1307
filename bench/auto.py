"""Auto runs: 200 that tick at once on one server, beside chats; how late a tick is, and what the chats keep."""

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import uvloop

from bench.engine import CLIENTS, BenchEngine, by_clients, open_bench
from bench.figures import Figure, at_least, at_most, compared, plain, tell
from carrel.delivery import BUILTIN, Connection, Live, Turns
from carrel.gateway import BuiltinGateway, OnSend, OnText, Step, StepAnswer
from carrel.kernel import MS_PER_SECOND, SessionKey, Usage, elapsed_seconds
from carrel.kernel.settings import AutoSettings, GatewaySettings, Settings
from carrel.main.assembly import rules_of
from carrel.modes import AutoTicks, NewAutoRun, start_auto, stop_auto
from carrel.runs import Watch
from carrel.storage import Tx
from carrel.tools import ToolServices
from tests.harness.engine import envelope

NAME = "auto"
REPEATS = 2
AUTO_RUNS = 200
# A third of the interval that auto runs have by default. Three ticks of each are seen.
INTERVAL_SECONDS = 20
TURN_SECONDS = 0.1
TURNS_PER_SESSION = 10
ALONE_SECONDS = 15.0
BESIDE_SECONDS = 45.0
LOOK_SECONDS = 0.05
_TICKS = (
    "SELECT auto_run_id, started_at, ended_at FROM runs WHERE auto_run_id IS NOT NULL AND started_at IS NOT NULL "
    "ORDER BY auto_run_id, seq"
)
_CROWDED = (
    "SELECT count(*) FROM runs WHERE auto_run_id IS NOT NULL AND state IN ('queued', 'running', 'waiting') "
    "GROUP BY key ORDER BY 1 DESC LIMIT 1"
)


async def _send_nothing(_body: bytes) -> None:
    """Keep nothing of what is sent."""


class Model(BuiltinGateway):
    """A stand-in for a model: it takes its time and never says the same twice, so that no auto run is stopped."""

    def __init__(self) -> None:
        super().__init__(BUILTIN)
        self._said = itertools.count(1)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = _send_nothing) -> StepAnswer:
        """Answer after a while."""
        await asyncio.sleep(TURN_SECONDS)
        said = f"Step {next(self._said)} is done."
        return StepAnswer(text=said, calls=(), usage=Usage(), model=BUILTIN, output=[])


def measure(durability: str) -> list[Figure]:
    """Chats a second beside 200 auto runs and without them, and the latest of all ticks."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-auto-") as name:
        return uvloop.run(_measure(Path(name), durability))


async def _measure(folder: Path, durability: str) -> list[Figure]:
    pairs, crowds, late, ticks = [], [], list[float](), 0
    for at in range(REPEATS):
        tell(f"auto: chats without and beside {AUTO_RUNS} auto runs, {at + 1} of {REPEATS}")
        (folder / str(at)).mkdir()
        async with open_bench(folder / str(at), durability) as made, _serving(made):
            alone = await _chats(made, "alone", ALONE_SECONDS)
            await _start(made)
            beside, crowd = await asyncio.gather(_chats(made, "beside", BESIDE_SECONDS), _crowd(made))
            await _stop(made)
            lateness = _lateness(await made.db.read(lambda tx: tx.all(_TICKS)))
        pairs.append((beside, alone))
        crowds.append(crowd)
        late += lateness
        ticks += len(lateness)
    return [
        compared(
            NAME, f"chats beside {AUTO_RUNS} auto runs that tick every {INTERVAL_SECONDS} s", "chats/s", pairs,
            yardstick="without them", bar=at_least(0.8),
        ),
        plain(
            NAME, "latest tick, in intervals", "x", max(late), bar=at_most(1),
            note=f"{ticks:,} ticks, median {statistics.median(late):.3f}",
        ),
        plain(NAME, "ticks of one lane that wait or work, at most", "ticks", max(crowds), bar=at_most(1)),
    ]  # fmt: skip


@asynccontextmanager
async def _serving(made: BenchEngine) -> AsyncIterator[None]:
    """A server with real turns, and the duty that ticks, for the length of the block."""
    settings = Settings(auto=AutoSettings(tick_seconds=INTERVAL_SECONDS))
    services = ToolServices(settings=settings, rules=rules_of(settings))
    connections = {BUILTIN: Connection(Model(), GatewaySettings())}
    turns = Turns(made.db, connections, services, Live(), Watch(made.db), nullcontext)
    duty = AutoTicks(made.db, made.rules, settings.auto, "bench", started_at=0)
    async with made.working(turns.take), asyncio.TaskGroup() as group:
        serving = group.create_task(duty.serve())
        yield
        serving.cancel()


async def _start(made: BenchEngine) -> None:
    def start(tx: Tx, number: int) -> None:
        start_auto(tx, made.access, NewAutoRun(key=_session(number)), made.rules)

    await by_clients(list(range(AUTO_RUNS)), lambda number: made.db.write(partial(start, number=number)))


async def _stop(made: BenchEngine) -> None:
    def stop(tx: Tx, number: int) -> None:
        stop_auto(tx, made.access, key=_session(number))

    await by_clients(list(range(AUTO_RUNS)), lambda number: made.db.write(partial(stop, number=number)))


def _session(number: int) -> SessionKey:
    return SessionKey.of("main", f"web:auto-session-{number}")


async def _chats(made: BenchEngine, name: str, seconds: float) -> float:
    """Chats a second for a while: each of 32 people says the next thing when they were answered."""
    answered, ends_at, watch = 0, elapsed_seconds() + seconds, Watch(made.db)

    async def chat(person: int) -> None:
        nonlocal answered
        for at in itertools.count():
            if elapsed_seconds() >= ends_at:
                return
            # Sessions are short, or their turns would grow longer from the first measurement to the second.
            key = SessionKey.of("main", f"web:{name}-{person}-{at // TURNS_PER_SESSION}")
            run = await made.deliver(envelope(key, "What is next?"))
            await watch.until_settled(made.access, run.id, seconds)
            answered += 1

    async with asyncio.TaskGroup() as group:
        serving = group.create_task(watch.serve())
        await by_clients(list(range(CLIENTS)), chat)
        serving.cancel()
    return answered / seconds


async def _crowd(made: BenchEngine) -> int:
    """The most ticks that waited or worked in one lane at a time."""
    most, ends_at = 0, elapsed_seconds() + BESIDE_SECONDS
    while elapsed_seconds() < ends_at:
        row = await made.db.read(lambda tx: tx.one(_CROWDED))
        most = max(most, int(row[0]) if row else 0)
        await asyncio.sleep(LOOK_SECONDS)
    return most


def _lateness(rows: list[tuple[str, int, int | None]]) -> list[float]:
    """How much later each tick started than an interval after the one before, or than its end, in intervals."""
    interval = INTERVAL_SECONDS * MS_PER_SECOND
    return [
        (started - max(before_started + interval, before_ended or 0)) / interval
        for (before, before_started, before_ended), (auto, started, _) in itertools.pairwise(rows)
        if before == auto
    ]
