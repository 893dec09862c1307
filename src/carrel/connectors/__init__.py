"""Connectors: MCP servers that the operator's settings name, whose tools agents call.

A server is started when its tools are first needed, shared by everyone who may use it, restarted when it dies, and
ended with this process. What it sends is limited in size, and trusted only as far as the settings say.
"""

from carrel.connectors.connectors import Connectors
from carrel.connectors.launch import address_of
from carrel.connectors.model import CallFailed, CallResult, ConnectorFields, ConnectorState, RemoteTool, ToolList

__all__ = [
    "CallFailed", "CallResult", "ConnectorFields", "ConnectorState", "Connectors", "RemoteTool", "ToolList",
    "address_of",
]  # fmt: skip
