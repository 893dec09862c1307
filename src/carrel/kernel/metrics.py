"""Counters and histograms of this process, by dotted name; current values (gauges) are read from the database.

The only state in the kernel: like a log, every room writes it and one surface reads it.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from msgspec import Struct

_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600, 1800)
_SESSION_VALUES_MAX = 200
Labels = tuple[tuple[str, str], ...]


class Sample(Struct, frozen=True):
    """One reading: name, labels and value, for an account or, with an empty account, for the server."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    labels: Labels
    value: float
    account_id: str = ""
    # Of a histogram: the count up to each bound.
    buckets: tuple[tuple[float, int], ...] = ()
    count: int = 0


class Metrics:
    """The registry; `count` and `observe` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, str, Labels], float] = {}
        self._histograms: dict[tuple[str, str, Labels], list[float]] = {}
        self._sessions: set[str] = set()

    def count(self, name: str, account_id: str, by: float = 1, **labels: str) -> None:
        """Add to a counter of an account; an empty id counts for the server."""
        key = (name, account_id, self._labels(labels))
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + by

    def observe(self, name: str, account_id: str, value: float, **labels: str) -> None:
        """Add one observation to a histogram of an account."""
        key = (name, account_id, self._labels(labels))
        with self._lock:
            slots = self._histograms.get(key)
            if slots is None:
                slots = self._histograms[key] = [0.0] * (len(_BUCKETS) + 2)
            slots[0] += value
            slots[bisect_left(_BUCKETS, value) + 1] += 1

    def samples(self) -> Iterator[Sample]:
        """Yield every reading, sorted by name."""
        with self._lock:
            counters = dict(self._counters)
            histograms = {key: list(slots) for key, slots in self._histograms.items()}
        for (name, account_id, labels), value in sorted(counters.items()):
            yield Sample(name, "counter", labels, value, account_id)
        for (name, account_id, labels), slots in sorted(histograms.items()):
            *below, total = (int(count) for count in accumulate(slots[1:]))
            bounds = tuple(zip(_BUCKETS, below, strict=True))
            yield Sample(name, "histogram", labels, slots[0], account_id, bounds, total)

    def _labels(self, labels: dict[str, str]) -> Labels:
        session = labels.get("session")
        if session is not None and session not in self._sessions:
            # One label per session would grow without bound; beyond the limit, sessions share one.
            if len(self._sessions) >= _SESSION_VALUES_MAX:
                labels["session"] = "other"
            else:
                self._sessions.add(session)
        return tuple(sorted(labels.items())) if len(labels) > 1 else tuple(labels.items())


METRICS = Metrics()
