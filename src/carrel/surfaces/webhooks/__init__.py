"""Webhooks: other programs post to an address of their own, and sign what they post."""

from carrel.surfaces.webhooks.http_routes import describe, routes

__all__ = ["describe", "routes"]
