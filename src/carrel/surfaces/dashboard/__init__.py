"""The dashboard's files over HTTP: the page itself, its styles and its scripts.

Not here: anything the page shows. It reads and writes through the same public API as every other client.
"""

from carrel.surfaces.dashboard.pages import routes

__all__ = ["routes"]
