"""When a search may start: a few at a time, by account and caller in turn, with pauses while others write."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from carrel.kernel import Access, limits

# (account, caller)
_Holder = tuple[str, str]


class Gate:
    """Admits a few at a time: among those waiting, the one with the fewest slots, then the longest unadmitted.

    Accounts are compared first, then callers, so nobody waits long because somebody else asks for much.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._held: Counter[str | _Holder] = Counter()
        # The number of the last admission of each, the latest last.
        self._admitted: dict[str | _Holder, int] = {}
        self._admissions = count(1)
        self._waiting: dict[asyncio.Future[None], _Holder] = {}

    @asynccontextmanager
    async def slot(self, access: Access, wait_seconds: float) -> AsyncIterator[None]:
        """Hold a slot; TimeoutError if none is free in time. A caller's only search waits for its turn."""
        holder = (access.account_id, access.actor_id)
        is_only = not self._held[holder] and holder not in self._waiting.values()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = holder
        self._admit()
        try:
            async with asyncio.timeout(max(wait_seconds, limits.SEARCH_TURN_SECONDS_MAX) if is_only else wait_seconds):
                await turn
            yield
        finally:
            # A search that gave up may have been admitted at the same moment.
            if self._waiting.pop(turn, None) is None:
                self._free += 1
                self._held -= Counter((holder[0], holder))
                self._admit()

    def _admit(self) -> None:
        # A search that gave up stays in the list until it notices that itself.
        while self._free and (waiting := [turn for turn in self._waiting if not turn.done()]):
            turn = min(waiting, key=lambda turn: self._order(self._waiting[turn]))
            holder = self._waiting.pop(turn)
            self._free -= 1
            for name in (holder[0], holder):
                self._held[name] += 1
                self._admitted.pop(name, None)
                self._admitted[name] = next(self._admissions)
            while len(self._admitted) > limits.SEARCH_ADMISSIONS_KEPT_MAX:
                del self._admitted[next(iter(self._admitted))]
            turn.set_result(None)

    def _order(self, holder: _Holder) -> list[tuple[int, int]]:
        return [(self._held[name], self._admitted.get(name, 0)) for name in (holder[0], holder)]


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
        is_busy = writes > took_seconds * limits.SEARCH_BUSY_WRITES_PER_SECOND
        rest = min(took_seconds * limits.SEARCH_REST, limits.SEARCH_REST_SECONDS_MAX)
        self._apart_seconds = took_seconds + rest if is_busy else 0.0
