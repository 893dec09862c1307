"""A2A: agents of other vendors talk to ours. A task is a run; this room reads, shows and follows runs, no more."""

from carrel.surfaces.a2a.addresses import routes
from carrel.surfaces.a2a.grpc import open_grpc
from carrel.surfaces.a2a.pushing import Pushing

__all__ = ["Pushing", "open_grpc", "routes"]
