"""The client that other programs and our own command line import; it knows the public API and nothing of the server."""

from carrel.bridge.client import Client, segment
from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut
from carrel.bridge.stream import StreamEvent

__all__ = ["BridgeFault", "Client", "NotReachable", "Refused", "StreamEvent", "TimedOut", "segment"]
