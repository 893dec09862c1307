"""The command: hold the checks against a foreign model server of its own; exit 1 when one of them fails."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.foreign_model.bench import Bench
from tests.foreign_model.checks import CHECKS
from tests.foreign_model.foreign_server import PACKAGES


def main() -> int:
    """Run every check, also after one failed; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.foreign_model", description=__doc__)
    parser.add_argument("--venv", type=Path, metavar="DIR", help="keep the server's interpreter there for another time")
    wanted = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="carrel-foreign-") as name:
        venv = wanted.venv.resolve() if wanted.venv else Path(name) / "venv"
        with Bench(venv, Path(name)) as bench:
            tell(f"{' and '.join(PACKAGES)} at {bench.proxy.upstream}")
            for check in CHECKS:
                try:
                    tell(f"ok      {check(bench)}")
                # The boundary between checks: one that breaks off does not keep the others from being made.
                except Exception as error:
                    failed += 1
                    tell(f"failed  {check.__name__}: {type(error).__name__}: {error}")
    tell(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed")
    return 1 if failed else 0


def tell(line: str) -> None:
    """Write a line of the report at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
