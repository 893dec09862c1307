"""When searches may start: at once, or with pauses while others write. Pure."""

from carrel.kernel.limits import SEARCH_BUSY_WRITES_PER_SECOND, SEARCH_REST, SEARCH_REST_SECONDS_MAX


class Pace:
    """Lets one search start after another, with a pause in between while others write.

    They all need the interpreter's lock: without pauses, searches would take most of it from writers.
    """

    def __init__(self) -> None:
        self._free_at = 0.0
        self._apart_seconds = 0.0

    def wait_seconds(self, now: float) -> float:
        """Return how long the next search has to wait; the one after it waits for this one."""
        starts_at = max(now, self._free_at)
        self._free_at = starts_at + self._apart_seconds
        return starts_at - now

    def ended(self, took_seconds: float, writes: int) -> None:
        """Record how long a search took, and how much others wrote meanwhile."""
        is_busy = writes > took_seconds * SEARCH_BUSY_WRITES_PER_SECOND
        rest = min(took_seconds * SEARCH_REST, SEARCH_REST_SECONDS_MAX)
        self._apart_seconds = took_seconds + rest if is_busy else 0.0
