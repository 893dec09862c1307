"""How the cost of some work grows with its input.

Only two costs are compared, in processor time: ten times the input may cost about ten times as much, where a hundred
times would be quadratic.
"""

import gc
import time
from collections.abc import Callable
from typing import NamedTuple

import httpx

GROWTH = 10
COST_GROWTH_MAX = 40
TRIES_MIN, TRIES_MAX = 3, 12
SECONDS_THAT_COUNT = 0.002
BYTES_THAT_COUNT = 1_000
BLOCK = "x" * 4_000
Work = Callable[[], object]


def cost(work: Work) -> float:
    """The processor time of one try, without pauses of the garbage collector."""
    gc.disable()
    try:
        before = time.thread_time()
        work()
        return time.thread_time() - before
    finally:
        gc.enable()


def shown_to_be_linear(shape: Callable[[int], Work], n: int) -> None:
    """Check that ten times the input does not cost much more than ten times as much.

    Other processes share the processor and its caches, so a try may cost several times what the work costs. The
    cheapest of many tries is what counts, and more are made until it is clear: quadratic work is slow in each.
    """
    few, many = shape(n), shape(n * GROWTH)
    costs = [(cost(few), cost(many)) for _ in range(TRIES_MIN)]
    while grows(costs) and len(costs) < TRIES_MAX:
        costs.append((cost(few), cost(many)))
    assert not grows(costs), f"seconds of {n} and of {n * GROWTH}: {costs}"


def grows(costs: list[tuple[float, float]]) -> bool:
    """Whether the cheapest try with much input costs far more than ten times the cheapest with little."""
    return min(many for _, many in costs) >= COST_GROWTH_MAX * max(min(few for few, _ in costs), 1e-4)


class Cost(NamedTuple):
    """What an answer costs: processor time of the loop, which everybody else waits for, and bytes."""

    seconds: float
    size: int


async def cost_of_answer(client: httpx.AsyncClient, path: str) -> Cost:
    """The least of three tries; the answer must be 200."""
    tries = []
    for _ in range(3):
        before = time.thread_time()
        answer = await client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
        tries.append(Cost(time.thread_time() - before, len(answer.content)))
    return min(tries)


def grew_too_much(few: Cost, many: Cost) -> bool:
    """Whether ten times as much of everything costs far more than that; small costs do not matter."""
    is_slower = many.seconds > COST_GROWTH_MAX * max(few.seconds, SECONDS_THAT_COUNT)
    return is_slower or many.size > COST_GROWTH_MAX * max(few.size, BYTES_THAT_COUNT)
