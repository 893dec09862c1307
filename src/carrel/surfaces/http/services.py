"""Services: the server as surfaces see it. Main assembles it once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, structs

from carrel.connectors import Connectors
from carrel.context import Contexts
from carrel.delivery import Connection, Live
from carrel.inbound import Webhooks
from carrel.kernel import Access, Shape
from carrel.kernel.settings import SettingRow, Settings
from carrel.runs import Concurrency, Rules, Run, Watch, run_by_id
from carrel.search import Search
from carrel.storage import Database, Tx
from carrel.tools import OpenChannelThread, ToolServices


class Reloaded(Shape, frozen=True, kw_only=True):
    """What was taken up, and which settings need a restart."""

    changed: list[str]
    need_restart: list[str]


class WrongSettings(Exception):
    """The settings cannot be applied: one sentence for each mistake."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Configuration(Protocol):
    """The settings as they are now, and the gateways that follow from them."""

    def rows(self) -> Sequence[SettingRow]:
        """Return every setting as people may see it."""

    def file(self) -> str:
        """Return the path of the file that the settings are read from, which need not exist."""

    async def reload(self) -> Reloaded:
        """Read the settings again and apply what can be; raise WrongSettings, changing nothing, if they are wrong."""

    async def connect(self, name: str, fields: Mapping[str, str], key: str) -> Reloaded:
        """Write a gateway into the settings file, with its key in a file of its own, and apply it.

        Raise Refusal, changing nothing, if the file cannot be written or would be overridden.
        """

    async def troubles(self) -> dict[str, str | None]:
        """Return what is wrong with each gateway now, None if nothing is."""


class Services(Struct, frozen=True, kw_only=True):
    """The database, the settings and the running parts of one server, handed to every surface."""

    db: Database
    search: Search
    settings: Settings
    configuration: Configuration
    rules: Rules
    live: Live
    contexts: Contexts
    connectors: Connectors
    webhooks: Webhooks
    watch: Watch
    version: str
    # By the name of the gateway; changed when the settings are reloaded.
    connections: Mapping[str, Connection]
    # Channel -> how a thread is opened there.
    channel_threads: Mapping[str, OpenChannelThread] = {}
    # Whether this server starts runs, and whether it is stopping.
    works: bool
    draining: Callable[[], bool]
    # Set when the server stops serving: streams and sockets end then, so that nothing delays its exit.
    closing: asyncio.Event

    def base_url(self, requested: object) -> str:
        """Return the public URL of this server: the one in the settings, else the one that was requested."""
        return (self.settings.server.public_url or str(requested)).rstrip("/")

    def gateways_of(self, access: Access) -> dict[str, Connection]:
        """Return the gateways that the agents of the caller's account may use."""
        return {name: one for name, one in self.connections.items() if one.settings.serves(access.account_slug)}

    def refuse_when_draining(self) -> None:
        """Refuse new work while the server is stopping."""
        self.tool_services.refuse_when_draining()

    async def wait_for_run(
        self, access: Access, run_id: str, seconds_max: float, look: Callable[[Tx, Access, str], Run | None] = run_by_id
    ) -> Run:
        """Return the run once it has ended or is waiting, or as it is when the time is up or the server stops."""
        return await self.watch.until_settled(access, run_id, seconds_max, self.closing, look)

    @property
    def concurrency(self) -> Concurrency:
        """How many runs may work at once with each gateway and for each agent."""
        given = {name: connection.settings.concurrency for name, connection in self.connections.items()}
        default = "default" if "default" in given else "builtin"
        return Concurrency(gateways=given, default_gateway=default, per_agent=self.settings.agents.defaults.concurrency)

    @property
    def tool_services(self) -> ToolServices:
        """The server as tools see it."""
        return ToolServices(
            settings=structs.replace(self.settings, gateway={n: one.settings for n, one in self.connections.items()}),
            rules=self.rules,
            gateways={name: connection.gateway for name, connection in self.connections.items()},
            channel_threads=self.channel_threads,
            search=self.search,
            contexts=self.contexts,
            connectors=self.connectors,
            draining=self.draining,
        )
