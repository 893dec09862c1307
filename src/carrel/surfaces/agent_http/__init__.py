"""Tools over plain HTTP: `/agent` lists them, `POST /agent/<tool>` calls one."""

from carrel.surfaces.agent_http.described import describe
from carrel.surfaces.agent_http.http_routes import routes

__all__ = ["describe", "routes"]
