"""Tools over MCP: one address that speaks streamable HTTP by the official SDK, loaded at the first request."""

from carrel.surfaces.mcp.endpoint import Endpoint
from carrel.surfaces.mcp.http_routes import routes

__all__ = ["Endpoint", "routes"]
