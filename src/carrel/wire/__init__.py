"""Outgoing HTTP: one client with limits and time-outs, and a guard against requests into private networks.

Only this room makes requests (besides the bridge). It retries nothing; that is up to the caller.
"""

from carrel.wire.client import StreamedReply, Wire
from carrel.wire.guard import ForbiddenAddress, Resolver, is_in_own_network, public_target, resolve_by_system, web_host
from carrel.wire.model import Reply, WireFault, WireFaultKind
from carrel.wire.sdk_client import sdk_client

__all__ = [
    "ForbiddenAddress", "Reply", "Resolver", "StreamedReply", "Wire", "WireFault", "WireFaultKind",
    "is_in_own_network", "public_target", "resolve_by_system", "sdk_client", "web_host",
]  # fmt: skip
