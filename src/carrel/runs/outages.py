"""Outages: unreachable gateways. The runs that wait for one continue as soon as it answers anyone."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from logging import getLogger

from carrel.kernel import Refusal, log_trouble
from carrel.kernel.limits import UNREACHABLE_CHECK_SECONDS
from carrel.runs.unreachable_store import release_from, unreachable_gateways
from carrel.storage import Database

_log = getLogger("carrel.runs")
# Whether a gateway is unreachable now.
IsUnreachable = Callable[[str], Awaitable[bool]]


class Outages:
    """Records which gateways this server could not reach, and checks them until they answer."""

    def __init__(self, db: Database, is_unreachable: IsUnreachable) -> None:
        self._db = db
        self._is_unreachable = is_unreachable
        self._gateways: set[str] = set()
        self._any = asyncio.Event()

    def note(self, gateway: str) -> None:
        """Record that a gateway is unreachable."""
        if gateway not in self._gateways:
            _log.warning("gateway_unreachable", extra={"gateway": gateway})
        self._gateways.add(gateway)
        self._any.set()

    async def answered(self, gateway: str) -> None:
        """Release the runs that wait for a gateway, if it was recorded as unreachable."""
        if gateway in self._gateways:
            await self.end(gateway)

    async def end(self, gateway: str) -> None:
        """Release the runs that wait for a gateway."""
        self._gateways.discard(gateway)
        _log.info("gateway_reachable", extra={"gateway": gateway})
        while await self._db.write(partial(release_from, gateway=gateway)):
            pass

    async def serve(self) -> None:
        """Check the gateways that runs wait for, until cancelled; including those of runs left by an earlier server."""
        for gateway in await self._db.read(unreachable_gateways):
            self.note(gateway)
        while True:
            if not self._gateways:
                self._any.clear()
            await self._any.wait()
            await asyncio.sleep(UNREACHABLE_CHECK_SECONDS)
            await self.check()

    async def check(self) -> None:
        """Check each of them once."""
        await asyncio.gather(*map(self._check, list(self._gateways)))

    async def _check(self, gateway: str) -> None:
        try:
            if not await self._is_unreachable(gateway):
                await self.end(gateway)
        except Refusal as refusal:
            # The store is unavailable: the next check ends the outage.
            log_trouble(_log, "outage_not_ended", refusal)
            self.note(gateway)
