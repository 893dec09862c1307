"""The command: run the benchmarks or one of them; exit 1 when a bar is missed."""

import argparse
import sys
from functools import partial
from pathlib import Path

import msgspec

from bench import (
    a2a,
    auto,
    connectors,
    context,
    dashboard,
    delivery,
    idle,
    lanes,
    memory,
    openclaw,
    prompt,
    retrieval,
    search,
    tools,
    topics,
    turns,
)
from bench.figures import Figure
from bench.stores import STORES

BENCHMARKS = {
    "lanes": lanes.measure,
    "idle": idle.measure,
    "turns": turns.measure,
    "context": context.measure,
    "delivery": delivery.measure,
    "a2a": a2a.measure,
    "a2a_load": a2a.measure_load,
    "tools": tools.measure,
    "connectors": connectors.measure,
    "memory": memory.measure,
    "auto": auto.measure,
    "search": search.measure,
    "openclaw": openclaw.measure,
    "prompt": prompt.measure,
    "topics": topics.measure,
    "dashboard": dashboard.measure,
}


def _conversations(given: str) -> Path:
    """Return a file that is named, by itself or as the only JSON file of its folder."""
    path = Path(given)
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if len(found) != 1 or not found[0].is_file():
        raise argparse.ArgumentTypeError(f"Give the path of one JSON file; {given} is none.")
    return found[0]


def main() -> int:
    """Measure what the arguments name and print it; the exit status."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=(*BENCHMARKS, retrieval.NAME), help="one benchmark; all without it")
    parser.add_argument("--json", action="store_true", help="print the figures for programs")
    parser.add_argument("--durability", choices=("full", "normal"), default="full", help="of the SQLite store")
    parser.add_argument(
        "--data", type=_conversations, help="file of conversations, for the benchmarks retrieval, context and topics"
    )
    parser.add_argument("--store", choices=STORES, default="both", help="for the benchmarks turns, context and search")
    options = parser.parse_args()
    stores = STORES[options.store]
    # Conversations are read only by the benchmark that was named.
    data = options.data if options.name is not None else None
    benchmarks = BENCHMARKS | {
        retrieval.NAME: partial(retrieval.measure, data=options.data),
        topics.NAME: partial(topics.measure, data=data),
        context.NAME: partial(context.measure, data=data, stores=stores),
        turns.NAME: partial(turns.measure, stores=stores),
        search.NAME: partial(search.measure, stores=stores),
    }
    figures: list[Figure] = []
    for name in [options.name] if options.name else benchmarks:
        measured = benchmarks[name](options.durability)
        figures += measured
        if not options.json:
            print("\n".join([name, *(figure.line() for figure in measured)]), flush=True)
    missed = [figure for figure in figures if figure.passed is False]
    if options.json:
        print(msgspec.json.encode({"figures": figures, "passed": not missed}).decode())
    elif missed:
        print(f"bars missed: {len(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
