"""Tools over MCP: one streamable HTTP endpoint by the official SDK, which is loaded at the first request."""

from carrel.surfaces.mcp.endpoint import Endpoint, routes

__all__ = ["Endpoint", "routes"]
