"""A mutant, and a copy of the source in which it lives."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
SOURCE = Path("src") / "carrel"
_SECONDS_MAX = 600


class Mutant(Struct, frozen=True):
    """Replaces `old`, which occurs once in the file, by `new`; `tests` are the arguments of pytest that must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def path(self) -> Path:
        """The changed file, relative to the checkout."""
        return SOURCE / self.file


def fault_of(mutant: Mutant) -> str | None:
    """Return why a mutant cannot be applied; None when it can."""
    path = ROOT / mutant.path
    found = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
    if found != 1:
        return f"{mutant.name}: its text occurs {found} times in {mutant.path}"
    files = [word for word in mutant.tests.split() if word.startswith("tests/")]
    missing = [file for file in files if not (ROOT / file).exists()]
    return f"{mutant.name}: there is no {missing[0]}" if missing else None


def caught_by(mutant: Mutant, copies: Path) -> str | None:
    """Run a mutant's tests on a changed copy of the source; return the first test that fails, None when all pass."""
    copy = copies / mutant.name.replace(" ", "-")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    changed = copy / mutant.path
    changed.write_text(changed.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist")
    command = [sys.executable, "-m", "pytest", *options, *mutant.tests.split()]
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{ROOT}"}
    try:
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return "the tests did not end"
    finally:
        shutil.rmtree(copy)
    # A module that cannot even be imported proves nothing, so only a test by its name counts.
    noticed = re.search(r"^(?:FAILED|ERROR) (\S+::\S+)", ended.stdout, re.MULTILINE)
    return noticed[1] if noticed else None
