"""Clients for other programs and our own command line: they use public protocols only and import no server code."""

from carrel.bridge.a2a import A2aClient
from carrel.bridge.api.feed import StreamEvent
from carrel.bridge.api.replies import Live, Piece
from carrel.bridge.api.requests import segment
from carrel.bridge.api.resources import is_session
from carrel.bridge.api.shapes import Artifact, Event, Fault, History, Run, Session
from carrel.bridge.async_client import AsyncClient
from carrel.bridge.client import Client
from carrel.bridge.faults import BridgeFault, EventsMissed, NotReachable, Refused, TimedOut
from carrel.bridge.histories.claude import read_claude
from carrel.bridge.histories.jsonl import read_jsonl
from carrel.bridge.histories.openclaw import read_openclaw
from carrel.bridge.local import DataDir, configured_url, find_server, is_local, owner_token, running_url
from carrel.bridge.mcp import McpRelay
from carrel.bridge.openclaw_queue import read_openclaw_queue
from carrel.bridge.recorder import Bridge

__all__ = [
    "A2aClient", "Artifact", "AsyncClient", "Bridge", "BridgeFault", "Client", "DataDir", "Event", "EventsMissed",
    "Fault", "History", "Live", "McpRelay", "NotReachable", "Piece", "Refused", "Run", "Session", "StreamEvent",
    "TimedOut", "configured_url", "find_server", "is_local", "is_session", "owner_token", "read_claude", "read_jsonl",
    "read_openclaw", "read_openclaw_queue", "running_url", "segment",
]  # fmt: skip
