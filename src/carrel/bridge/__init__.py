"""Clients for other programs and our own command line: they use public protocols only and import no server code."""

from carrel.bridge.a2a import A2aClient
from carrel.bridge.client import Client, segment
from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut
from carrel.bridge.histories.claude import read_claude
from carrel.bridge.histories.jsonl import read_jsonl
from carrel.bridge.histories.openclaw import read_openclaw
from carrel.bridge.mcp import McpRelay
from carrel.bridge.recorder import Bridge
from carrel.bridge.stream import StreamEvent

__all__ = [
    "A2aClient",
    "Bridge",
    "BridgeFault",
    "Client",
    "McpRelay",
    "NotReachable",
    "Refused",
    "StreamEvent",
    "TimedOut",
    "read_claude",
    "read_jsonl",
    "read_openclaw",
    "segment",
]
