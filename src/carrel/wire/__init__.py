"""Outgoing HTTP: one client with limits and time-outs, and a guard against requests into private networks.

Only this room makes requests (besides the bridge). It retries nothing; that is up to the caller.
"""

from carrel.wire.client import StreamedReply, Wire
from carrel.wire.guard import ForbiddenAddress, Resolver, is_in_own_network, public_target, resolve_by_system, web_host
from carrel.wire.model import Reply, ServerEvent, WireFault, WireFaultKind, WireLimits
from carrel.wire.sdk_client import sdk_client
from carrel.wire.sse import EventReader

__all__ = [
    "EventReader", "ForbiddenAddress", "Reply", "Resolver", "ServerEvent", "StreamedReply", "Wire", "WireFault",
    "WireFaultKind", "WireLimits", "is_in_own_network", "public_target", "resolve_by_system", "sdk_client",
    "web_host",
]  # fmt: skip
