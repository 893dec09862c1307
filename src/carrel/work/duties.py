"""The duties of tasks: handling ends of runs, stalls and heartbeats."""

from carrel.runs import Rules
from carrel.storage import Database
from carrel.work.heartbeats import Heartbeats
from carrel.work.run_ends import RunEnds
from carrel.work.stalls import Stalls


def duties(db: Database, rules: Rules) -> tuple[RunEnds, Stalls, Heartbeats]:
    """Return the duties of this room, to be served."""
    return RunEnds(db, rules), Stalls(db, rules), Heartbeats(db, rules)
