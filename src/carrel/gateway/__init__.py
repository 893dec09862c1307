"""Gateways to models: the protocol, the Open Responses and A2A clients, and the built-in agent.

A gateway keeps no state and retries nothing: a step is answered, or it raises GatewayFault.
"""

from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.factory import open_gateway
from carrel.gateway.model import PROMPT_TOO_LONG, Call, Gateway, GatewayFault, OnSend, OnText, Step, StepAnswer, Usage
from carrel.gateway.sent import read_sent

__all__ = [
    "PROMPT_TOO_LONG", "BuiltinGateway", "Call", "Gateway", "GatewayFault", "OnSend", "OnText", "Step",
    "StepAnswer", "Usage", "open_gateway", "read_sent",
]  # fmt: skip
