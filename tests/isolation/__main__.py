"""Live through many random worlds and look for text that somebody sees who may not see it."""

import argparse
import asyncio
import contextlib
import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from tests.harness.blank_stores import BlankDatabases
from tests.isolation.checks import try_world
from tests.isolation.difference import Difference
from tests.postgres import postgres_server

TOLD_MAX = 6
PROGRESS_WORLDS = 50


def main() -> int:
    """Live through the worlds that the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.isolation", description=__doc__)
    parser.add_argument("--worlds", type=int, default=1, metavar="N", help="how many worlds (1)")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite", help="the database (sqlite)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="of the first world; the others follow it")
    parser.add_argument("--all", action="store_true", help="name every difference, and what was refused")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    seeds, told_max = range(first, first + options.worlds), 10_000 if options.all else TOLD_MAX
    failed, kinds = list[int](), Counter[str]()
    for at, (seed, found, broken) in enumerate(worlds(seeds, options.store), 1):
        if found or broken:
            failed.append(seed)
        kinds.update(f"{one.door}: {one.origin.kind}" for one in found)
        say(*([broken] if broken else []), *map(str, found[:told_max]))
        if len(found) > told_max:
            say(f"seed {seed} | and {len(found) - told_max} more; all of them: {again(seed, options.store)} --all")
        if at % PROGRESS_WORLDS == 0 or at == options.worlds:
            say(f"{at} worlds of {options.worlds}, {len(failed)} with differences")
    if failed:
        say(*(f"{count:6} {kind}" for kind, count in kinds.most_common(40)))
        say(f"{len(failed)} worlds failed; live through one again with: {again(failed[0], options.store)}")
    return 1 if failed else 0


def again(seed: int, store: str) -> str:
    """Return the command that lives through one world again."""
    return f"python -m tests.isolation --seed {seed} --store {store}"


def worlds(seeds: range, store: str) -> Iterator[tuple[int, list[Difference], str]]:
    """Live through worlds, as many at a time as there are cores; yield the differences of each, or how it broke."""
    with contextlib.ExitStack() as stack:
        blank = None
        if store == "postgresql":
            blank = BlankDatabases(stack.enter_context(postgres_server()))
        cores = os.cpu_count() or 1
        pool = stack.enter_context(ProcessPoolExecutor(cores))
        under_way: dict[Future[tuple[int, list[Difference], str]], str | None] = {}
        for seed in [*seeds, None]:
            while len(under_way) >= (cores if seed is not None else 1):
                for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                    url = under_way.pop(ended)
                    if blank is not None and url is not None:
                        blank.give_back(url)
                    yield ended.result()
            if seed is not None:
                url = blank.take() if blank is not None else None
                under_way[pool.submit(try_seed, seed, url)] = url


def try_seed(seed: int, url: str | None = None) -> tuple[int, list[Difference], str]:
    """Live through one world; what broke is told, and the others go on."""
    logging.disable(logging.CRITICAL)
    try:
        found, _ = asyncio.run(try_world(seed, url))
    except Exception as error:  # boundary: one broken world is reported, and the others go on
        return seed, [], f"seed {seed} | the world broke: {type(error).__name__}: {error}"
    return seed, found, ""


def say(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
