"""The API of a server as both clients see it: requests, results and their order; nothing here does I/O."""
