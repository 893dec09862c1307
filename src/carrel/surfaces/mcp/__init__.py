"""Tools over MCP: one streamable HTTP endpoint by the official SDK, which is loaded at the first request."""

from carrel.surfaces.mcp.endpoint import Endpoint
from carrel.surfaces.mcp.http_routes import routes

__all__ = ["Endpoint", "routes"]
