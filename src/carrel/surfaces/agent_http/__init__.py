"""Tools over plain HTTP: `/agent` lists them, `POST /agent/<tool>` calls one."""

from carrel.surfaces.agent_http.http_routes import routes
from carrel.surfaces.agent_http.openapi import describe

__all__ = ["describe", "routes"]
