"""Live through many random worlds of tasks and look for text that has come to a request where it does not belong."""

import argparse
import asyncio
import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from tests.canary.checks import leaks
from tests.canary.world import try_world

TOLD_MAX = 5


def try_seed(seed: int, as_told: bool = False) -> tuple[int, int, Counter[str], list[str]]:
    """Live through one world; return its seed, how many requests it made, its steps, and what leaked."""
    try:
        evidence, steps = asyncio.run(try_world(seed))
    except Exception as error:  # boundary: one broken world is reported, and the others go on
        if as_told:
            raise
        return seed, 0, Counter(), [f"the world broke: {type(error).__name__}: {error}"]
    return seed, len(evidence.requests), steps, leaks(evidence)


def main() -> int:
    """Live through the worlds that the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.canary", description=__doc__)
    parser.add_argument("--worlds", type=int, default=1, metavar="N", help="how many worlds (1)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="of the first world; the others follow it")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    requests, steps, failed = 0, Counter[str](), list[int]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds = range(first, first + options.worlds)
        for seed, made, taken, leaked in pool.map(try_seed, seeds, repeat(options.worlds == 1)):
            requests, steps = requests + made, steps + taken
            if leaked:
                failed.append(seed)
                _say("\n".join([f"seed {seed}:", *(f"  {sentence}" for sentence in leaked[:TOLD_MAX])]))
    told = ", ".join(f"{count} {step}" for step, count in sorted(steps.items()))
    _say(f"{options.worlds} worlds from seed {first}, {requests} requests: {told}")
    if failed:
        _say(f"{len(failed)} worlds failed; replay one with: python -m tests.canary --seed {failed[0]}")
    return 1 if failed else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
