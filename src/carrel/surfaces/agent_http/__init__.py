"""Tools over plain HTTP: `/agent` lists them, `POST /agent/<tool>` calls one."""

from carrel.surfaces.agent_http.addresses import routes

__all__ = ["routes"]
