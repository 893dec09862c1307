"""The gateways of this server, opened once and kept by name; the built-in agent is always one of them."""

import asyncio
from collections.abc import Mapping
from typing import Self

from carrel.delivery import BUILTIN, Connection
from carrel.gateway import Gateway, GatewayFault, open_gateway
from carrel.kernel import Code, Refusal
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire


class Gateways:
    """One connection for every gateway in the settings."""

    def __init__(self, gateways: Mapping[str, GatewaySettings]) -> None:
        self.wire = Wire()
        self.connections = self._opened(gateways)

    def _opened(self, gateways: Mapping[str, GatewaySettings]) -> dict[str, Connection]:
        opened: dict[str, Connection] = {}
        for name, settings in {BUILTIN: GatewaySettings(), **gateways}.items():
            try:
                opened[name] = Connection(open_gateway(name, settings, self.wire), settings)
            except ValueError as error:
                raise Refusal(Code.INVALID_PARAMS, str(error)) from error
        return opened

    def replace(self, gateways: Mapping[str, GatewaySettings]) -> None:
        """Use other settings from now on; steps that are under way end where they began. All or nothing is changed."""
        opened = self._opened(gateways)
        self.connections.clear()
        self.connections.update(opened)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self.connections.values():
            await connection.gateway.close()
        await self.wire.close()

    async def troubles(self) -> dict[str, str | None]:
        """Return what is wrong with each gateway right now; None where nothing is."""
        found = await asyncio.gather(*(_trouble(connection.gateway) for connection in self.connections.values()))
        return dict(zip(self.connections, found, strict=True))


async def _trouble(gateway: Gateway) -> str | None:
    try:
        await gateway.check()
    except GatewayFault as fault:
        return str(fault)
    return None
