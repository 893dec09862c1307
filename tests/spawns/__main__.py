"""The command: so many spawns on either store or both, replayable by seed; exit 1 when a promise was broken."""

import argparse
import asyncio
import random
import sys
import time

from tests.postgres import PostgresMissing, postgres_server
from tests.spawns.trial import Report, try_spawns


def main() -> int:
    """Run what the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.spawns", description=__doc__)
    parser.add_argument("--spawns", type=int, required=True, metavar="N", help="how many spawns must be accepted")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="repeat the choices of that seed")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    stores = ("sqlite", "postgres") if options.store == "both" else (options.store,)
    return max(_on(store, options.spawns, seed) for store in stores)


def _on(store: str, spawns: int, seed: int) -> int:
    _say(f"{spawns} spawns on {store}, seed {seed}")
    begun = time.monotonic()
    try:
        if store == "sqlite":
            report = asyncio.run(try_spawns(None, spawns=spawns, seed=seed, tell=_say))
        else:
            with postgres_server() as server:
                report = asyncio.run(try_spawns(server.create_database(), spawns=spawns, seed=seed, tell=_say))
    except PostgresMissing as missing:
        _say(f"no PostgreSQL here: {missing}")
        return 1
    _sum_up(store, report, time.monotonic() - begun)
    return 1 if report.broken else 0


def _sum_up(store: str, report: Report, seconds: float) -> None:
    states = ", ".join(f"{count} {state}" for state, count in sorted(report.states.items()))
    _say(f"{store}: {report.spawned} spawns, {report.kills} kills in {seconds:.0f} s: {states}")
    _say(f"{store}: {report.redelivered} offered again")
    for sentence in report.broken[:50]:
        _say(f"  BROKEN: {sentence}")
    _say(f"  evidence kept in {report.kept}" if report.broken else f"{store}: no result was lost")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
