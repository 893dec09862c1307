"""The whole table of endpoints: importing a module of endpoints enters them, and this imports them all."""

from starlette.routing import BaseRoute

from carrel.surfaces.api import (  # noqa: F401  (importing them enters their endpoints)
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

# Routes that are no requests: WebSockets.
SOCKETS: list[BaseRoute] = [websocket.SOCKET]


def every_endpoint() -> list[Endpoint]:
    """Every endpoint that the modules above have entered."""
    return list(ENDPOINTS)
