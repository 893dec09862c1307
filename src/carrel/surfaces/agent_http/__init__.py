"""Tools over plain HTTP: `/agent` lists them, `POST /agent/<tool>` calls one."""

from carrel.surfaces.agent_http.http_routes import describe, routes

__all__ = ["describe", "routes"]
