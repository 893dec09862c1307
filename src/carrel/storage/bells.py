"""Bells: how a committed change wakes the tasks that wait for it. They carry no message: who wakes reads the tables."""

import asyncio

# The only bell that storage itself rings, when an event of the feed is settled. Rooms name the others.
FEED = "feed"


class Bell:
    """A version number that only grows: note it, read the tables, then wait until it has changed."""

    def __init__(self) -> None:
        self.version = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wake every waiting task. Call it only on the loop's own thread."""
        self.version += 1
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seen: int, seconds_max: float) -> None:
        """Wait until the version is past `seen`, for at most `seconds_max`."""
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
