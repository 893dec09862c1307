"""What one attempt of a run remembers between its steps; the next attempt reads or learns all of it again."""

from carrel.delivery.snapshot import Snapshot
from carrel.kernel import Usage
from carrel.loops import Trace
from carrel.tools import CATALOG


class Attempt:
    """One attempt of a run."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.called: set[str] = set()
        # Only its hash is stored: the steps of one attempt share the token, and the next attempt gets another.
        self.token = ""
        # Whether there are budgets to check; assumed until this attempt has counted something.
        self.is_limited = True
        # How much history is shown, once more was found to be too much.
        self.history_chars_max: int | None = None
        self.empty_replies = 0
        self.is_first_step = True
        # Whether the session takes a long read.
        self.is_long = False
        self.catalog = CATALOG
        # The last snapshot, parts of which are reused; None before the message is heard.
        self.snapshot: Snapshot | None = None
        # The snapshot with the calls that were just written: nobody else writes entries of the run under this claim.
        self.with_calls: Snapshot | None = None
        # What its session did before, if agents caused the run; None before it is read.
        self.trace: Trace | None = None
