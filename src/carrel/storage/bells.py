"""Bells: how a committed change wakes those who wait for it.

A bell carries no news; who hears it looks at the tables.
"""

import asyncio

# The one bell that storage rings itself: a number of the feed was settled. Every other is named by the room it is for.
FEED = "feed"


class Bell:
    """A version that only grows; take it, look, then wait for it to pass."""

    def __init__(self) -> None:
        self.version = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wake everyone who waits. Only on the loop's own thread."""
        self.version += 1
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seen: int, seconds_max: float) -> None:
        """Return once the version has passed `seen`, at the latest after `seconds_max`."""
        if self.version != seen:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        handle = future.get_loop().call_later(seconds_max, _end, future)
        try:
            await future
        finally:
            handle.cancel()
            self._waiting.discard(future)


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
