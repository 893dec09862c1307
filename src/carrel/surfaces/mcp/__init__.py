"""Tools over MCP: one address that speaks streamable HTTP by the official SDK, loaded at the first request."""

from carrel.surfaces.mcp.addresses import routes
from carrel.surfaces.mcp.serving import Endpoint

__all__ = ["Endpoint", "routes"]
