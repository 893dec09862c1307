"""Builds the demo and serves it, with agents at work."""

import asyncio
from collections.abc import Callable

from carrel.delivery import BUILTIN, Connection
from carrel.main.demo.activity import Activity, take_time
from carrel.main.demo.build import CONNECTION, build_demo
from carrel.main.demo.gateway import DemoGateway
from carrel.main.gateways import Gateways
from carrel.main.server import Live, serve
from carrel.main.settings import LoadedSettings


def build(read: Callable[[], LoadedSettings], now_ms: int) -> None:
    """Build the demo; its month ends at that moment."""
    asyncio.run(build_demo(read, now_ms))


def serve_demo(read: Callable[[], LoadedSettings], *, open_browser: bool) -> int:
    """Serve the demo until it is told to stop."""

    def enliven(gateways: Gateways) -> Live:
        gateway = DemoGateway(take_time)
        gateways.connections[BUILTIN] = Connection(gateway, CONNECTION)
        return Activity(gateway).live

    return serve(read, role="all", open_browser=open_browser, life=enliven)
