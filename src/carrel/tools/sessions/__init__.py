"""The session tools: list, read, send and spawn."""
