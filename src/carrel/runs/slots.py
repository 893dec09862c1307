"""Slots: how many turns this process may take at once, counted where several threads claim work."""

import threading


class Slots:
    """A number of slots; who reserves one gives it back, from whatever thread."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._count = count
        self._free = count
        self._lent = 0

    @property
    def taken(self) -> bool:
        """True while somebody has a slot."""
        return self._free - self._lent < self._count

    def reserve(self, limit: int) -> int:
        """Take up to `limit` free slots; how many that were."""
        with self._lock:
            reserved = max(0, min(limit, self._free))
            self._free -= reserved
        return reserved

    def lend(self) -> None:
        """Let another use a slot while its owner only waits."""
        with self._lock:
            self._free += 1
            self._lent += 1

    def take_back(self) -> None:
        """Have a lent slot again, at once: whoever used it meanwhile is one too many for a while."""
        with self._lock:
            self._free -= 1
            self._lent -= 1

    def give_back(self, count: int) -> None:
        """Let `count` slots be taken again."""
        with self._lock:
            self._free += count
