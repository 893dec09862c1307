"""The clock: the only module that reads the time. Everything else is given a moment or a Clock."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

MS_PER_SECOND = 1_000
MS_PER_MINUTE = 60_000
MS_PER_HOUR = 3_600_000
MS_PER_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """The time in milliseconds since 1970, UTC."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def elapsed_seconds() -> float:
    """Return a monotonic reading, for measuring durations."""
    return time.perf_counter()


def iso(ms: int | None) -> str | None:
    """Format a moment as ISO 8601 in UTC with milliseconds and Z; None stays None."""
    if ms is None:
        return None
    return f"{_to_the_second(ms // 1000)}{ms % 1000:03d}Z"


# Lists repeat the same few seconds, and formatting one costs more than the rest of its row.
@lru_cache(maxsize=4_096)
def _to_the_second(seconds: int) -> str:
    # strftime writes early years with fewer than four digits.
    return datetime.fromtimestamp(seconds, UTC).isoformat().partition("+")[0] + "."


def minute_of(ms: int) -> str:
    """Format a moment in UTC for readers, to the minute: 2026-01-31 12:00."""
    return _to_the_second(ms // 1000)[:16].replace("T", " ")


def parse_iso(text: str) -> int:
    """Parse an ISO 8601 moment into milliseconds; raise ValueError if it is malformed or has no offset.

    The moment in UTC must lie in the years 1 to 9999, so that it can be formatted again; otherwise OverflowError.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs an offset, e.g. 2026-01-31T12:00:00Z")
    # Integer arithmetic: with float seconds, some moments come out one millisecond too small.
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
