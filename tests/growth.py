"""How the cost of some work grows with its input.

Only two costs are compared, in processor time of this thread: ten times the input may cost about ten times as much,
where a hundred times would be quadratic.
"""

import gc
import time
from collections.abc import Callable

GROWTH = 10
COST_GROWTH_MAX = 40
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
