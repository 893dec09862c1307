"""Tools over MCP."""
