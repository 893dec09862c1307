"""The gateways of this server, opened once and kept by name; the built-in agent is always one of them."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from carrel.delivery import BUILTIN, Connection
from carrel.gateway import AcpGateway, Gateway, GatewayFault, open_gateway
from carrel.kernel import Code, Refusal
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire


class Gateways:
    """One connection for every gateway in the settings; the programs they start end with it."""

    def __init__(self, gateways: Mapping[str, GatewaySettings]) -> None:
        self.wire = Wire()
        self._group = asyncio.TaskGroup()
        self._stack = AsyncExitStack()
        # Gateways no longer in the settings that may still be finishing a step.
        self._retired: list[AcpGateway] = []
        self.connections: dict[str, Connection] = {}
        self.connections = self._opened(gateways)

    def _opened(self, gateways: Mapping[str, GatewaySettings]) -> dict[str, Connection]:
        opened: dict[str, Connection] = {}
        for name, settings in {BUILTIN: GatewaySettings(), **gateways}.items():
            present = self.connections.get(name)
            if present is not None and present.settings == settings and isinstance(present.gateway, AcpGateway):
                # Keep its running programs.
                opened[name] = present
                continue
            try:
                opened[name] = Connection(open_gateway(name, settings, self.wire, start=self._start), settings)
            except ValueError as error:
                raise Refusal(Code.INVALID_PARAMS, str(error)) from error
        return opened

    def replace(self, gateways: Mapping[str, GatewaySettings]) -> None:
        """Use other settings from now on; steps under way end where they began. It changes all or nothing."""
        opened = self._opened(gateways)
        for name, connection in self.connections.items():
            if isinstance(connection.gateway, AcpGateway) and opened.get(name) is not connection:
                connection.gateway.retire()
                self._retired.append(connection.gateway)
        self.connections.clear()
        self.connections.update(opened)

    def _start(self, life: Coroutine[Any, Any, None]) -> None:
        self._group.create_task(life)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._group)
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._stack:
            for gateway in (*self._retired, *(connection.gateway for connection in self.connections.values())):
                await gateway.close()
            await self.wire.close()

    async def troubles(self) -> dict[str, str | None]:
        """Return what is wrong with each gateway right now, None if nothing is."""
        found = await asyncio.gather(*(_trouble(connection.gateway) for connection in self.connections.values()))
        return dict(zip(self.connections, found, strict=True))


async def _trouble(gateway: Gateway) -> str | None:
    try:
        await gateway.check()
    except GatewayFault as fault:
        return str(fault)
    return None
