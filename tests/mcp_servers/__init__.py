"""MCP servers of others, as people install them: one from npm and one from PyPI."""
