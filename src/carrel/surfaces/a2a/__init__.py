"""A2A: agents of other vendors talk to ours. A task is a run; this room reads, shows and follows runs, no more."""

from carrel.surfaces.a2a.pushing import Pushing
from carrel.surfaces.a2a.routes import routes

__all__ = ["Pushing", "routes"]
