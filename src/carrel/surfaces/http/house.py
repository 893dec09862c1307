"""House: the server as surfaces see it. Main assembles it once."""

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
    """The database, the settings and the running parts of one server, handed to every surface."""

    db: Database
    settings: Settings
    setting_rows: tuple[SettingRow, ...]
    rules: Rules
    live: Live
    watch: Watch
    version: str
    # The kind of each gateway, by name.
    gateway_kinds: Mapping[str, str]
    gateways: Mapping[str, Gateway]
    # Channel -> how a thread is opened there.
    channel_threads: Mapping[str, OpenChannelThread] = {}
    # Whether this server starts runs, and whether it is stopping.
    works: bool
    draining: Callable[[], bool]
    # Set when the server stops serving: streams and sockets end then, so that nothing delays its exit.
    closing: asyncio.Event
    # Gateway -> what is wrong with it now; None where nothing is.
    gateway_troubles: Callable[[], Awaitable[dict[str, str | None]]]

    def base_url(self, requested: object) -> str:
        """Return the public URL of this server: the one in the settings, else the one that was requested."""
        return (self.settings.server.public_url or str(requested)).rstrip("/")

    def refuse_when_draining(self) -> None:
        """Refuse new work while the server is stopping."""
        self.tool_services.refuse_when_draining()

    async def wait_for_run(self, access: Access, run_id: str, seconds_max: float) -> Run:
        """Return the run once it has ended or is waiting, or as it is when the time is up or the server stops."""
        return await self.watch.until_settled(access, run_id, seconds_max, self.closing)

    @property
    def tool_services(self) -> ToolServices:
        """The server as tools see it."""
        return ToolServices(
            settings=self.settings,
            rules=self.rules,
            gateways=self.gateways,
            channel_threads=self.channel_threads,
            draining=self.draining,
        )
