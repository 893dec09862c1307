"""Open Responses: programs that speak to a model speak to our agents instead. A response is a stretch of a run."""

from carrel.surfaces.responses.http_routes import routes

__all__ = ["routes"]
