"""How a turn reaches a model: the protocol, the Open Responses client and the built-in agent.

It keeps nothing, knows no session and no store, and tries nothing twice: a step is answered or it is a GatewayFault.
"""

from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.factory import open_gateway
from carrel.gateway.model import PROMPT_TOO_LONG, Call, Gateway, GatewayFault, OnText, Step, StepAnswer, Usage

__all__ = [
    "PROMPT_TOO_LONG",
    "BuiltinGateway",
    "Call",
    "Gateway",
    "GatewayFault",
    "OnText",
    "Step",
    "StepAnswer",
    "Usage",
    "open_gateway",
]
