"""A2A: agents of other vendors talk to ours. A task is a run; this room reads, shows and follows runs, no more."""

from carrel.surfaces.a2a.grpc.port import open_grpc
from carrel.surfaces.a2a.push import PushDuty
from carrel.surfaces.a2a.routes import routes

__all__ = ["PushDuty", "open_grpc", "routes"]
