"""Open Responses: programs written for a model API talk to agents instead. A response is one stretch of a run."""

from carrel.surfaces.responses.http_routes import refusal_response, routes
from carrel.surfaces.responses.openapi import describe

__all__ = ["describe", "refusal_response", "routes"]
