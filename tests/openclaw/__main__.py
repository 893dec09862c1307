"""The command: walk through the pair on a real OpenClaw; exit 1 at the first step that fails, and keep the evidence."""

import argparse
import json
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.openclaw.installation import Installation
from tests.openclaw.pair import Pair
from tests.openclaw.steps import STEPS, Step, idle

CACHE = Path("~/.cache/carrel-openclaw")


def main() -> int:
    """Make every step, or those that are named; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.openclaw", description=__doc__)
    parser.add_argument("--installed", type=Path, metavar="DIR", help="use the OpenClaw whose node_modules are there")
    parser.add_argument("--node", type=Path, metavar="DIR", help="the folder of the Node for --installed")
    parser.add_argument("--cache", type=Path, metavar="DIR", default=CACHE, help=f"where it is installed ({CACHE})")
    parser.add_argument("--step", action="append", metavar="NAME", help=f"only this one: {', '.join([*STEPS, 'idle'])}")
    parser.add_argument("--idle-seconds", type=float, default=90.0, help="how long nobody says anything (default: 90)")
    parser.add_argument("--keep-going", action="store_true", help="make the other steps too after one has failed")
    parser.add_argument("--json", action="store_true", help="print each step as JSON")
    wanted = parser.parse_args()
    steps: dict[str, Step] = {**STEPS, "idle": partial(idle, seconds=wanted.idle_seconds)}
    named = {name: steps[name] for name in wanted.step or steps}
    # Asked to end, it ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cache = wanted.cache.expanduser()
    installation = Installation.found(wanted.installed, wanted.node) if wanted.installed else Installation.made(cache)
    return walk(installation, named, as_json=wanted.json, keeps_going=wanted.keep_going)


def walk(installation: Installation, steps: dict[str, Step], *, as_json: bool, keeps_going: bool) -> int:
    """Make the steps in order; without a failure nothing of them stays."""
    folder = Path(tempfile.mkdtemp(prefix="carrel-openclaw-"))
    failed = 0
    with Pair(installation, folder) as pair:
        for name, step in steps.items():
            state, seen = made(pair, name, step)
            failed += state == "failed"
            report = (
                json.dumps({"step": name, "state": state, "seen": seen}) if as_json else f"{state:6}  {name}: {seen}"
            )
            sys.stdout.write(f"{report}\n")
            sys.stdout.flush()
            if failed and not keeps_going:
                break
        if failed:
            pair.keep_evidence(folder)
    if failed:
        sys.stdout.write(f"the evidence is in {folder}\n")
    else:
        shutil.rmtree(folder)
    return 1 if failed else 0


def made(pair: Pair, name: str, step: Step) -> tuple[str, str]:
    """Make one step; its state and what was seen."""
    try:
        if name != "guide":
            pair.set_up()
        return "ok", step(pair)
    # The boundary between steps: one that breaks off is reported with its reason.
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
