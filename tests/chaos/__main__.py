"""The command: rounds of chaos on either store or both, replayable by seed; exit 1 when a promise was broken."""

import argparse
import asyncio
import random
import sys
import time

from tests.chaos.rounds import Report, wreak
from tests.postgres import PostgresMissing, postgres_server


def main() -> int:
    """Run what the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(prog="./dev chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, required=True, metavar="N", help="how many times to kill and restart")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument(
        "--seed", type=int, default=None, metavar="S", help="repeat the kills and messages of that seed"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    stores = ("sqlite", "postgres") if options.store == "both" else (options.store,)
    return max(_on(store, options.rounds, seed) for store in stores)


def _on(store: str, rounds: int, seed: int) -> int:
    _say(f"chaos on {store}, {rounds} rounds, seed {seed}")
    begun = time.monotonic()
    try:
        if store == "sqlite":
            report = asyncio.run(wreak(None, rounds=rounds, seed=seed, tell=_say))
        else:
            with postgres_server() as server:
                report = asyncio.run(wreak(server.create_database(), rounds=rounds, seed=seed, tell=_say))
    except PostgresMissing as missing:
        _say(f"no PostgreSQL here: {missing}")
        return 1
    _sum_up(store, report, time.monotonic() - begun)
    return 1 if report.broken else 0


def _sum_up(store: str, report: Report, seconds: float) -> None:
    states = ", ".join(f"{count} {state}" for state, count in sorted(report.states.items()))
    _say(f"{store}: {report.kills} kills in {seconds:.0f} s, {report.accepted} messages accepted: {states}")
    for sentence in report.broken:
        _say(f"  BROKEN: {sentence}")
    _say(f"  evidence kept in {report.kept}" if report.broken else f"{store}: every promise held")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
