"""The whole table of endpoints: importing a module of endpoints enters them, and this imports them all."""

from starlette.routing import BaseRoute

from carrel.surfaces.api import administration, agents, auth, changes, health, metrics, openapi, stream
from carrel.surfaces.api.endpoint import ENDPOINTS, Endpoint

MODULES = (administration, agents, auth, changes, health, metrics, openapi, stream)
# Routes that are no requests: WebSockets.
SOCKETS: list[BaseRoute] = []


def every_endpoint() -> list[Endpoint]:
    """Every endpoint of the modules above."""
    return list(ENDPOINTS)
