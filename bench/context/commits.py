"""Context: turns whose context takes long to gather, beside commits of other lanes and short reads on the loop."""

import asyncio
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import uvloop

from bench.engine import CLIENTS, TEXT, BenchEngine, by_clients, open_bench
from bench.figures import Figure, at_least, at_most, compared, plain, tell
from carrel.context import Context, ContextRequest, Contexts
from carrel.delivery import BUILTIN, Connection, Live, Turns
from carrel.delivery.snapshot import Snapshot
from carrel.gateway import BuiltinGateway
from carrel.journal import NewEntry, append_entry
from carrel.kernel import Provenance, elapsed_seconds
from carrel.kernel.settings import GatewaySettings, Settings
from carrel.main.assembly import rules_of
from carrel.runs import Watch
from carrel.search import Search
from carrel.search.embedders import NoEmbedder
from carrel.storage import Tx
from carrel.tools import ToolServices

NAME = "context"
REPEATS = 5
TURNS = 32
GATHER_SECONDS = 0.2
SECONDS = 3.0
READ_EVERY_SECONDS = 0.002
FEW, MANY, BUILDS = 100, 100_000, 200
_FOUND = Context(block="Kept facts:\n- It was.", layers=("A:memory",))


def measure(durability: str) -> list[Figure]:
    """Commits beside 32 turns that gather for 200 ms each, and how long a short read takes meanwhile."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-context-") as name:
        return uvloop.run(_measure(Path(name), durability))


async def _measure(folder: Path, durability: str) -> list[Figure]:
    pairs, reads = [], []
    async with open_bench(folder, durability) as made:
        for at in range(REPEATS):
            tell(f"context: commits beside {TURNS} gathering turns, {at + 1} of {REPEATS}")
            async with _turning(made, f"at-once-{at}", 0):
                at_once, _ = await _rates(made)
            async with _turning(made, f"slow-{at}", GATHER_SECONDS):
                beside, waited = await _rates(made)
            pairs.append((beside, at_once))
            reads += waited
        built = await _built(made)
    p99 = statistics.quantiles(reads, n=100)[98] * 1000
    return [
        compared(
            NAME, f"commits beside {TURNS} turns that gather for {GATHER_SECONDS * 1000:.0f} ms", "commits/s", pairs,
            yardstick="beside turns that gather nothing", bar=at_least(0.9),
        ),
        plain(NAME, "short read meanwhile, p99", "ms", p99, bar=at_most(10), note=f"{len(reads):,} reads"),
        built,
    ]  # fmt: skip


async def _built(made: BenchEngine) -> Figure:
    """How long layer A takes in a session of many entries, compared with one of few."""
    settings = Settings()
    contexts = Contexts(made.db, settings, Search(made.db, NoEmbedder(), settings.search))
    sessions = {"small": FEW, "large": MANY}
    for name, count in sessions.items():
        tell(f"context: writing {count:,} entries")
        await made.db.write(partial(_talk, made, name, count))
    taken: dict[str, list[float]] = {name: [] for name in sessions}
    for _ in range(BUILDS):
        for name in sessions:
            begun = elapsed_seconds()
            await contexts.build(made.access, ContextRequest(reference=name, mode="cheap", question=TEXT))
            taken[name].append((elapsed_seconds() - begun) * 1000)
    pairs = list(zip(taken["large"], taken["small"], strict=True))
    name = f"context without a search, session of {MANY:,} entries"
    return compared(NAME, name, "ms", pairs, yardstick=f"session of {FEW} entries", bar=at_most(2))


def _talk(made: BenchEngine, session: str, count: int, tx: Tx) -> None:
    for n in range(count):
        said = NewEntry(
            type="conversation", role="user", content=f"{n} {TEXT}", author="user", bucket=session,
            provenance=Provenance(kind="external_user"),
        )  # fmt: skip
        append_entry(tx, made.access, said)


async def _rates(made: BenchEngine) -> tuple[float, list[float]]:
    """Commits a second by 32 clients for a while, and how long each of many short reads took beside them."""
    count, ends_at, reads = 0, elapsed_seconds() + SECONDS, []

    async def commit(_: object) -> None:
        nonlocal count
        while elapsed_seconds() < ends_at:
            await made.insert()
            count += 1

    async def read() -> None:
        while elapsed_seconds() < ends_at:
            due_at = elapsed_seconds() + READ_EVERY_SECONDS
            await asyncio.sleep(READ_EVERY_SECONDS)
            await made.db.read(lambda tx: tx.one("SELECT count(*) FROM accounts"))
            # From the moment it should have begun: a loop that is held up delays that too.
            reads.append(elapsed_seconds() - due_at)

    await asyncio.gather(read(), by_clients([None] * CLIENTS, commit))
    return count / SECONDS, reads


@asynccontextmanager
async def _turning(made: BenchEngine, name: str, seconds: float) -> AsyncIterator[None]:
    """Start a turn in each of 32 lanes again and again, for the length of the block; each gathers for so long."""

    async def gather(_snapshot: Snapshot) -> Context:
        await asyncio.sleep(seconds)
        return _FOUND

    settings = Settings()
    services = ToolServices(settings=settings, rules=rules_of(settings))
    connections = {BUILTIN: Connection(BuiltinGateway(BUILTIN), GatewaySettings())}
    turns = Turns(made.db, connections, services, Live(), Watch(made.db), nullcontext, gather)
    working = True

    async def client(lane: int) -> None:
        while working:
            await made.send(f"{name}-{lane}")
            await asyncio.sleep(2 * GATHER_SECONDS)

    async with made.working(turns.take), asyncio.TaskGroup() as group:
        for lane in range(TURNS):
            group.create_task(client(lane))
        yield
        working = False
