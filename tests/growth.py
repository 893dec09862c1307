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
SECONDS_THAT_COUNT = 0.002
BYTES_THAT_COUNT = 1_000
BLOCK = "x" * 4_000
Work = Callable[[], object]


def cost(work: Work) -> float:
    """The least processor time of three tries, without pauses of the garbage collector."""
    tries = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            before = time.thread_time()
            work()
            tries.append(time.thread_time() - before)
    finally:
        gc.enable()
    return min(tries)


def shown_to_be_linear(shape: Callable[[int], Work], n: int) -> None:
    """Check that ten times the input does not cost much more than ten times as much."""
    few, many = shape(n), shape(n * GROWTH)
    assert cost(many) / max(cost(few), 1e-4) < COST_GROWTH_MAX


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
