"""Rounds of chaos: servers under load are killed at random moments, and afterwards every promise is looked up."""

import sys

from tests.chaos.rounds import wreak
from tests.chaos.trials import run_trial

if __name__ == "__main__":
    sys.exit(
        run_trial(
            wreak,
            prog="./dev chaos",
            description=__doc__,
            what="rounds",
            meaning="how many times to kill and restart",
        )
    )
