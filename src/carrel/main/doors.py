"""The gateways of this server, opened once by name; the built-in agent is always among them."""

import asyncio
from collections.abc import Mapping
from typing import Self

from carrel.delivery import BUILTIN, Door
from carrel.gateway import open_gateway
from carrel.kernel import Code, Refusal
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire


class Doors:
    """An open door for every gateway of the settings."""

    def __init__(self, gateways: Mapping[str, GatewaySettings]) -> None:
        self.wire = Wire()
        self.by_name: dict[str, Door] = {}
        for name, settings in {BUILTIN: GatewaySettings(), **gateways}.items():
            try:
                self.by_name[name] = Door(open_gateway(name, settings, self.wire), settings)
            except ValueError as error:
                raise Refusal(Code.INVALID_PARAMS, str(error)) from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for door in self.by_name.values():
            await door.gateway.close()
        await self.wire.close()

    async def up(self) -> dict[str, bool]:
        """Which of them answer now."""
        names = list(self.by_name)
        found = await asyncio.gather(*(self.by_name[name].gateway.check() for name in names))
        return dict(zip(names, found, strict=True))
