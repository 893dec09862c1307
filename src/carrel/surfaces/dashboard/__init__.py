"""Serves the dashboard's files: the page, its styles and its scripts.

The page itself reads and writes by the same public API as every other client.
"""

from carrel.surfaces.dashboard.pages import missing_page, routes

__all__ = ["missing_page", "routes"]
