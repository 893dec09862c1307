"""Run a conformance kit or the JavaScript client against a new server; exit 1 on any failure."""

import argparse
import sys
from pathlib import Path

from tests.conformance.javascript import run_javascript
from tests.conformance.kits import PROFILES, run_kit, run_old_kit
from tests.conformance.reports import Report


def main() -> int:
    """Run what the arguments name and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    kits = parser.add_mutually_exclusive_group(required=True)
    kits.add_argument("--kit", type=Path, metavar="DIR", help="a checkout of the 1.0 kit with its .venv")
    kits.add_argument("--kit03", type=Path, metavar="DIR", help="a checkout of the 0.3 kit with its .venv")
    kits.add_argument("--js", type=Path, metavar="DIR", help="a folder in which @a2a-js/sdk is installed")
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), default="full", help="the features that the server offers (1.0 kit)"
    )
    parser.add_argument("--grpc", action="store_true", help="offer gRPC too (1.0 kit)")
    parser.add_argument("--transports", default="jsonrpc", help="jsonrpc, rest, or both separated by a comma (0.3 kit)")
    parser.add_argument("more", nargs="*", help="options for the 1.0 kit's pytest, after --")
    options = parser.parse_args()
    if options.js:
        return run_javascript(options.js)
    if options.kit:
        reports = [run_kit(options.kit.resolve(), options.profile, grpc=options.grpc, more=options.more)]
    else:
        reports = run_old_kit(options.kit03.resolve(), options.transports.split(","))
    return _print(reports)


def _print(reports: list[Report]) -> int:
    for report in reports:
        sys.stdout.write("\n".join([*report.lines(), ""]))
        sys.stdout.flush()
    return 1 if any(report.counts["failed"] for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
