"""Webhooks: other programs post to an address of their own, and sign what they post."""

from carrel.surfaces.webhooks.described import describe
from carrel.surfaces.webhooks.http_routes import routes

__all__ = ["describe", "routes"]
