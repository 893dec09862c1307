"""All servers of the settings: who may use them, their tools, calls, and their end."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping
from typing import Any

from msgspec import structs

from carrel.connectors.model import CallFailed, CallResult, ConnectorState, RemoteTool, ToolList
from carrel.connectors.server import Server
from carrel.kernel import Clock, SystemClock
from carrel.kernel.settings import McpServerSettings
from carrel.programs import ProgramFault


class Connectors:
    """The servers; they run within `serve`. A tool whose name is in `taken` is not offered."""

    def __init__(
        self, settings: Mapping[str, McpServerSettings], clock: Clock | None = None, *, taken: Collection[str] = ()
    ) -> None:  # fmt: skip
        self._taken = taken
        self._clock = clock or SystemClock()
        self._group: asyncio.TaskGroup | None = None
        self._servers: dict[str, Server] = {}
        self.replace(settings)

    def replace(self, settings: Mapping[str, McpServerSettings]) -> None:
        """Use new settings; servers whose settings changed are ended."""
        before = self._servers
        self._servers = {
            name: before[name]
            if name in before and before[name].settings == one
            else Server(name, one, self._clock, self._start, self._taken)
            for name, one in settings.items()
        }
        for name, server in before.items():
            if self._servers.get(name) is not server:
                server.end()

    async def serve(self) -> None:
        """Run the servers; they end when this is cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None

    def _start(self, life: Coroutine[Any, Any, None]) -> None:
        if self._group is None:
            life.close()
            raise ProgramFault("Carrel is stopping.")
        self._group.create_task(life)

    @property
    def is_configured(self) -> bool:
        """Whether the settings name any server."""
        return bool(self._servers)

    def usable(self, account_slug: str) -> tuple[str, ...]:
        """Return the names of the servers that the agents of an account may use."""
        allowed = ((name, server.settings.accounts) for name, server in self._servers.items())
        return tuple(sorted(name for name, accounts in allowed if "*" in accounts or account_slug in accounts))

    async def tools(self, account_slug: str, names: Iterable[str]) -> tuple[ToolList, ...]:
        """Return the tools of the named servers that the account may use, starting the servers if needed."""
        found = await asyncio.gather(*(server.tools() for server in self._named(account_slug, names)))
        return tuple(one for one in found if one is not None)

    def known_tools(self, account_slug: str, names: Iterable[str]) -> tuple[ToolList, ...] | None:
        """Return the same if nothing has to be waited for; else None."""
        found = [server.known_tools() for server in self._named(account_slug, names)]
        return None if None in found else tuple(one for one in found if one is not None)

    def _named(self, account_slug: str, names: Iterable[str]) -> list[Server]:
        usable = self.usable(account_slug)
        return [self._servers[name] for name in dict.fromkeys(names) if name in usable]

    async def call(self, account_slug: str, tool: RemoteTool, arguments: dict[str, Any]) -> CallResult:
        """Call a tool; raise CallFailed if there is no result."""
        server = self._servers.get(tool.server)
        if server is None or tool.server not in self.usable(account_slug):
            raise CallFailed(f"The MCP server {tool.server} is not in the settings any more.", is_unknown=False)
        return await server.call(tool, arguments)

    async def check(self, account_slug: str, name: str) -> ConnectorState | None:
        """Start a server if needed, list its tools anew, and return its state; None for one of other accounts."""
        found = self._named(account_slug, [name])
        if not found:
            return None
        fault, state = await found[0].check(), found[0].state()
        return state if fault is None else structs.replace(state, status="failed", last_error=fault)

    def last_tools(self, account_slug: str, names: Iterable[str]) -> tuple[ToolList, ...]:
        """Return what the named servers that the account may use last offered, without starting any."""
        lists = (server.offered for server in self._named(account_slug, names))
        return tuple(one for one in lists if one is not None)

    def states(self, account_slug: str) -> list[ConnectorState]:
        """Return the servers that an account may use, sorted by name, as people see them."""
        return [self._servers[name].state() for name in self.usable(account_slug)]
