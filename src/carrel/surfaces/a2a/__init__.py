"""The A2A server: other vendors' agents and clients send messages to our agents.

A task is a run. `operations` lists what A2A can do, `jsonrpc`, `rest` and `grpc` are its three bindings, `legacy`
speaks A2A 0.3, and `push` delivers push notifications.
"""

from carrel.surfaces.a2a.grpc.server import open_grpc
from carrel.surfaces.a2a.http_routes import routes
from carrel.surfaces.a2a.openapi import describe
from carrel.surfaces.a2a.push import PushDuty

__all__ = ["PushDuty", "describe", "open_grpc", "routes"]
