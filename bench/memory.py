"""Memory: recall along a chain in an account with 100 memories, and in one with 100,000."""

import random
import statistics
import tempfile
from functools import partial
from pathlib import Path

import uvloop

from bench.engine import BenchEngine, open_bench
from bench.figures import Figure, at_most, compared, tell
from carrel.kernel import Access, elapsed_seconds
from carrel.memory import NewMemory, Reader, Scope, keep, promote, recall, scope_chain
from carrel.storage import Tx

NAME = "memory"
FEW, MANY = 100, 100_000
REPEATS = 5
RECALLS = 100
BATCH = 1_000
WORDS = 2_000
ITEMS_MAX = 12


def measure(durability: str) -> list[Figure]:
    """The p95 of one recall of three scopes among many memories, beside that among few."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-memory-") as name:
        return uvloop.run(_measure(Path(name), durability))


async def _measure(folder: Path, durability: str) -> list[Figure]:
    async with open_bench(folder, durability) as made:
        few, many = made.access, await made.another_account("many")
        for access, count in ((few, FEW), (many, MANY)):
            tell(f"memory: keeping {count:,} memories")
            await _furnish(made, access, count)
        pairs = []
        for at in range(REPEATS):
            tell(f"memory: {RECALLS} recalls each, {at + 1} of {REPEATS}")
            small, large = [await _recalls(made, access, at) for access in (few, many)]
            pairs.append((large, small))
    return [
        compared(
            NAME, f"recall among {MANY:,} memories, p95", "ms", pairs, yardstick=f"among {FEW}", bar=at_most(1.5)
        )
    ]  # fmt: skip


async def _furnish(made: BenchEngine, access: Access, count: int) -> None:
    """Fill three scopes of one chain alike: a task, a session and `global`."""
    chance = random.Random(1)
    scopes = (Scope.of_task("t1"), Scope.of_session(("web", "c1")))

    def some(tx: Tx, first: int) -> None:
        for n in range(first, min(first + BATCH, count)):
            new = NewMemory(type="fact", content=f"{_question(chance)} {n}")
            memory = keep(tx, access, scopes[n % 2], "main", new)
            if n % 3 == 0:
                promote(tx, access, memory, "all should know")

    for first in range(0, count, BATCH):
        await made.db.write(partial(some, first=first))


async def _recalls(made: BenchEngine, access: Access, seed: int) -> float:
    chance, took = random.Random(seed), []
    reader = Reader(agent_id="main", chain=scope_chain(("web", "c1"), task_id="t1"))
    for _ in range(RECALLS):
        asked = partial(recall, access=access, reader=reader, question=_question(chance), items_max=ITEMS_MAX)
        begun = elapsed_seconds()
        await made.db.long_read(asked)
        took.append((elapsed_seconds() - begun) * 1000)
    return statistics.quantiles(took, n=20)[18]


def _question(chance: random.Random) -> str:
    """Eight words, some of which are in many texts and most of which are in few, as in a language."""
    return " ".join(f"word{int(WORDS * chance.random() ** 3)}" for _ in range(8))
