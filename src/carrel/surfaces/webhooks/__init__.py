"""Webhooks: other programs post to an address of their own, and sign what they post."""

from carrel.surfaces.webhooks.http_routes import routes
from carrel.surfaces.webhooks.openapi import describe

__all__ = ["describe", "routes"]
