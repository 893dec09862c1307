"""Clients for other programs and our own command line: they use public protocols only and import no server code."""

from carrel.bridge.a2a import A2aClient
from carrel.bridge.client import Client, segment
from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut
from carrel.bridge.mcp import McpRelay
from carrel.bridge.recorder import Bridge
from carrel.bridge.stream import StreamEvent

__all__ = [
    "A2aClient", "Bridge", "BridgeFault", "Client", "McpRelay", "NotReachable", "Refused", "StreamEvent",
    "TimedOut", "segment",
]  # fmt: skip
