"""The whole table of endpoints: importing a module of endpoints enters them, and this imports them all."""

from starlette.routing import BaseRoute

from carrel.surfaces.api import (
    active,
    administration,
    agents,
    auth,
    changes,
    chat,
    health,
    metrics,
    notifications,
    openapi,
    runs,
    schedules,
    session_changes,
    sessions,
    stream,
    websocket,
)
from carrel.surfaces.api.endpoint import ENDPOINTS, Endpoint

MODULES = (
    active,
    administration,
    agents,
    auth,
    changes,
    chat,
    health,
    metrics,
    notifications,
    openapi,
    runs,
    schedules,
    session_changes,
    sessions,
    stream,
)
# Routes that are no requests: WebSockets.
SOCKETS: list[BaseRoute] = [websocket.SOCKET]


def every_endpoint() -> list[Endpoint]:
    """Every endpoint of the modules above."""
    return list(ENDPOINTS)
