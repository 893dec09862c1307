"""The monotonic clock, which a test moves on instead of waiting: whatever has a time limit reaches it at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest


class Elapsing:
    """Adds to what the loop and our own code read as elapsed time. The time of day stays as it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._ahead = 0.0
        for reading in ("monotonic", "perf_counter"):
            monkeypatch.setattr(time, reading, self._later(getattr(time, reading)))

    def _later(self, real: Callable[[], float]) -> Callable[[], float]:
        return lambda: real() + self._ahead

    def skip_pauses(self) -> None:
        """Let pauses pass at once from now on: the clock is moved on by as much."""

        async def passed(seconds: float) -> None:
            self.advance(seconds)
            await real(0)

        real = asyncio.sleep
        self._monkeypatch.setattr(asyncio, "sleep", passed)
        self._monkeypatch.setattr(time, "sleep", self.advance)

    def advance(self, seconds: float) -> None:
        """Move on. Bounds of waits that have begun are moved towards as well."""
        self._ahead += seconds

    async def pass_by(self, seconds: int, meanwhile: Callable[[], Awaitable[object]]) -> None:
        """Move on second by second; in each of them everything else has as long to act as `meanwhile` takes."""
        for _ in range(seconds):
            self.advance(1)
            await meanwhile()
