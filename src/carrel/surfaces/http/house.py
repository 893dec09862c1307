"""The house as a surface sees it: the store, the rules, and who is at work. Assembled once, by main."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from carrel.delivery import Live
from carrel.gateway import Gateway
from carrel.kernel import Access
from carrel.kernel.settings import SettingRow, Settings
from carrel.runs import Rules, Run, Watch
from carrel.storage import Database
from carrel.tools import OpenChannelThread, ToolServices


class House(Struct, frozen=True, kw_only=True):
    """What main hands to every surface."""

    db: Database
    settings: Settings
    setting_rows: tuple[SettingRow, ...]
    rules: Rules
    live: Live
    watch: Watch
    version: str
    gateway_names: tuple[str, ...]
    gateways: Mapping[str, Gateway]
    # Channel -> how a thread of it is opened.
    channel_threads: Mapping[str, OpenChannelThread] = {}
    # Whether this process starts runs, and whether it has begun to stop.
    works: bool
    draining: Callable[[], bool]
    # Set when the server stops serving: streams and sockets end then, so that nothing holds its end up.
    closing: asyncio.Event
    # Name of a gateway -> whether it answers now.
    gateways_up: Callable[[], Awaitable[dict[str, bool]]]

    def base_url(self, asked: object) -> str:
        """The address that callers know this server by: the one set for it, else the one they asked."""
        return (self.settings.server.public_url or str(asked)).rstrip("/")

    def refuse_when_draining(self) -> None:
        """Refuse new work while the server is stopping."""
        self.tool_services.refuse_when_draining()

    async def wait_for_run(self, access: Access, run_id: str, seconds_max: float) -> Run:
        """Return the run once it has ended or is waiting, or as it is when the time is up or the server stops."""
        return await self.watch.until_settled(access, run_id, seconds_max, self.closing)

    @property
    def tool_services(self) -> ToolServices:
        """The house as tools see it."""
        return ToolServices(
            settings=self.settings,
            rules=self.rules,
            gateways=self.gateways,
            channel_threads=self.channel_threads,
            draining=self.draining,
        )
