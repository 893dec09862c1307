"""Followers of the feed on PostgreSQL, while writers are killed and another program keeps a transaction open."""

import argparse
import asyncio
import sys

import msgspec

from tests.postgres import postgres_server
from tests.stress.trial import Plan, run


def main() -> int:
    """Run one trial and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the writers write (default: 60)")
    parser.add_argument("--writers", type=int, default=3, help="how many processes write (default: 3)")
    parser.add_argument("--followers", type=int, default=3, help="how many followers must see everything (default: 3)")
    parser.add_argument("--seed", type=int, default=1)
    with postgres_server() as server:
        report = asyncio.run(run(server, Plan(**vars(parser.parse_args()))))
    sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
