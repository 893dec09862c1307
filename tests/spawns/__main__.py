"""Run many spawns while servers die and lanes are deleted, then look for every result."""

import sys

from tests.chaos.trials import run_trial
from tests.spawns.trial import try_spawns

if __name__ == "__main__":
    sys.exit(
        run_trial(
            try_spawns,
            prog="python -m tests.spawns",
            description=__doc__,
            what="spawns",
            meaning="how many spawns must be accepted",
        )
    )
