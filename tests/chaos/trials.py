"""A trial as a command: on either store or both, replayable by seed; exit 1 when a promise was broken."""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.postgres import PostgresMissing, postgres_server

BROKEN_TOLD_MAX = 50
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """How a trial ended; `kept` is the evidence directory when a promise was broken."""

    accepted: int
    kills: int
    states: dict[str, int]
    broken: list[str]
    kept: Path | None


# A trial is given the PostgreSQL store to use or None for a SQLite file of its own, how much to do, its seed, and whom
# to tell how it goes.
Trial = Callable[[str | None, int, int, Tell], Coroutine[Any, Any, Report]]


def run_trial(trial: Trial, *, prog: str, description: str | None, what: str, meaning: str) -> int:
    """Run what the command line asks for, so many `what`; the exit status."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument(f"--{what}", dest="amount", type=int, required=True, metavar="N", help=meaning)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="repeat the choices of that seed")
    options = parser.parse_args()
    if options.amount < 1:
        parser.error(f"--{what} must be at least 1")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    stores = ("sqlite", "postgres") if options.store == "both" else (options.store,)
    held = []
    for store in stores:
        _say(f"{options.amount} {what} on {store}, seed {seed}")
        held.append(_on(store, trial, options.amount, seed))
    return 0 if all(held) else 1


def _on(store: str, trial: Trial, amount: int, seed: int) -> bool:
    begun = time.monotonic()
    try:
        if store == "sqlite":
            report = asyncio.run(trial(None, amount, seed, _say))
        else:
            with postgres_server() as server:
                report = asyncio.run(trial(server.create_database(), amount, seed, _say))
    except PostgresMissing as missing:
        _say(f"no PostgreSQL here: {missing}")
        return False
    states = ", ".join(f"{count} {state}" for state, count in sorted(report.states.items()))
    seconds = time.monotonic() - begun
    _say(f"{store}: {report.kills} kills in {seconds:.0f} s, {report.accepted} accepted: {states}")
    for sentence in report.broken[:BROKEN_TOLD_MAX]:
        _say(f"  BROKEN: {sentence}")
    _say(f"  evidence kept in {report.kept}" if report.broken else f"{store}: every promise held")
    return not report.broken


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
