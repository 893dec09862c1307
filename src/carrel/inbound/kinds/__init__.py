"""The kinds of senders: how each signs, names its events and deliveries, and is worded by default."""

from carrel.inbound.kinds.github import GitHub
from carrel.inbound.kinds.kind import Kind
from carrel.inbound.kinds.linear import Linear
from carrel.inbound.kinds.plain import PlainJson
from carrel.inbound.kinds.slack import Slack

KINDS: dict[str, type[Kind]] = {"github": GitHub, "linear": Linear, "slack": Slack, "json": PlainJson}

__all__ = ["KINDS", "Kind"]
