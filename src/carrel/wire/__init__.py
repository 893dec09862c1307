"""The only room that makes HTTP requests: one client with bounds and time-outs, and a guard for foreign addresses.

It knows nothing of models, runs or webhooks, and it tries nothing twice: whoever asked decides about that.
"""

from carrel.wire.client import StreamedReply, Wire
from carrel.wire.guard import ForbiddenAddress, Resolver, public_target, resolve_by_system, web_host
from carrel.wire.model import ServerEvent, WireFault, WireFaultKind, WireLimits
from carrel.wire.sse import EventReader

__all__ = [
    "EventReader",
    "ForbiddenAddress",
    "Resolver",
    "ServerEvent",
    "StreamedReply",
    "Wire",
    "WireFault",
    "WireFaultKind",
    "WireLimits",
    "public_target",
    "resolve_by_system",
    "web_host",
]
