"""Apply every mutant to a copy of the source and run the tests that must notice it; exit 1 when one survives."""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.catalog import MUTANTS
from tests.mutants.model import Mutant, caught_by, fault_of


def main() -> int:
    """Try the mutants that the command line names, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="only the mutants whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many to try at a time (default: 2)")
    options = parser.parse_args()
    wanted = [mutant for mutant in MUTANTS if options.only in mutant.name]
    faults = [fault for fault in map(fault_of, wanted) if fault is not None]
    if faults:
        sys.stderr.write("\n".join(faults) + "\n")
        return 2
    with tempfile.TemporaryDirectory() as copies, ThreadPoolExecutor(options.jobs) as pool:
        survived = [name for name in pool.map(lambda mutant: _try(mutant, Path(copies)), wanted) if name is not None]
    sys.stdout.write(f"{len(wanted) - len(survived)} of {len(wanted)} mutants caught\n")
    return 1 if survived else 0


def _try(mutant: Mutant, copies: Path) -> str | None:
    caught = caught_by(mutant, copies)
    sys.stdout.write(f"{'caught  ' if caught else 'SURVIVED'}  {mutant.name}: {caught or mutant.tests}\n")
    sys.stdout.flush()
    return None if caught else mutant.name


if __name__ == "__main__":
    sys.exit(main())
