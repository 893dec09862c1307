"""`carrel mcp`."""
