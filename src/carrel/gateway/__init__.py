"""Gateways to models: the protocol, a client for each kind of server, and the built-in agent.

A step means the same for every kind of gateway; only this room knows the dialects.

A gateway keeps no state and retries nothing: a step is answered, or it raises GatewayFault.
"""

from carrel.gateway.acp.actions import ACT_KINDS
from carrel.gateway.acp.gateway import AcpGateway
from carrel.gateway.acp.message import remote_id_of
from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.factory import MissingGateway, gateway_key, missing_gateway, open_gateway
from carrel.gateway.model import (
    PROMPT_TOO_LONG,
    AgentAction,
    AgentGateway,
    Call,
    Gateway,
    GatewayFault,
    OnSend,
    OnText,
    Step,
    StepAnswer,
)
from carrel.gateway.model_gateway import model_window
from carrel.gateway.model_servers import MODEL_SERVERS, ModelServer, Probe, model_server, probe
from carrel.gateway.stored_request import MODEL_KINDS, comparable, read_stored_request, repeated_request

__all__ = [
    "ACT_KINDS", "MODEL_KINDS", "MODEL_SERVERS", "PROMPT_TOO_LONG", "AcpGateway", "AgentAction",
    "AgentGateway", "BuiltinGateway", "Call", "Gateway", "GatewayFault", "MissingGateway", "ModelServer", "OnSend",
    "OnText", "Probe", "Step", "StepAnswer", "comparable", "gateway_key", "missing_gateway", "model_server",
    "model_window", "open_gateway", "probe", "read_stored_request", "remote_id_of", "repeated_request",
]  # fmt: skip
