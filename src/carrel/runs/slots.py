"""Slots: how many turns this process may run at once. Thread-safe, because several threads claim runs."""

import threading


class Slots:
    """A fixed number of slots; each reserved one must be released, from any thread."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._count = count
        self._free = count
        self._lent = 0

    @property
    def taken(self) -> bool:
        """Whether any slot is in use."""
        return self._free - self._lent < self._count

    def reserve(self, limit: int) -> int:
        """Reserve up to `limit` free slots; return how many."""
        with self._lock:
            reserved = max(0, min(limit, self._free))
            self._free -= reserved
        return reserved

    def lend(self) -> None:
        """Let another turn use a slot while its owner only waits."""
        with self._lock:
            self._free += 1
            self._lent += 1

    def take_back(self) -> None:
        """Take a lent slot back at once, even if that exceeds the number of slots for a while."""
        with self._lock:
            self._free -= 1
            self._lent -= 1

    def release(self, count: int) -> None:
        """Free `count` reserved slots."""
        with self._lock:
            self._free += count
