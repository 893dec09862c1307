"""Gateways to models: the protocol, a client for each kind of server, and the built-in agent.

A step means the same for every kind of gateway; only this room knows the dialects.

A gateway keeps no state and retries nothing: a step is answered, or it raises GatewayFault.
"""

from carrel.gateway.acp.gateway import AcpGateway
from carrel.gateway.acp.names import ACT_KINDS, ActKind
from carrel.gateway.acp.sent import remote_id_of
from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.factory import open_gateway
from carrel.gateway.keys import gateway_key
from carrel.gateway.model import (
    PROMPT_TOO_LONG,
    Act,
    ActingGateway,
    Call,
    Gateway,
    GatewayFault,
    OnSend,
    OnText,
    Step,
    StepAnswer,
    Usage,
)
from carrel.gateway.model_servers import MODEL_SERVERS, ModelServer, model_server
from carrel.gateway.placeholder import MissingGateway, missing_gateway
from carrel.gateway.probe import Probe, probe
from carrel.gateway.repeated import MODEL_KINDS, repeated_request
from carrel.gateway.sent import comparable, read_sent
from carrel.gateway.windows import model_window

__all__ = [
    "ACT_KINDS", "MODEL_KINDS", "MODEL_SERVERS", "PROMPT_TOO_LONG", "AcpGateway", "Act", "ActKind", "ActingGateway",
    "BuiltinGateway", "Call", "Gateway", "GatewayFault", "MissingGateway", "ModelServer", "OnSend", "OnText",
    "Probe", "Step", "StepAnswer", "Usage", "comparable", "gateway_key", "missing_gateway", "model_server",
    "model_window", "open_gateway", "probe", "read_sent", "remote_id_of", "repeated_request",
]  # fmt: skip
