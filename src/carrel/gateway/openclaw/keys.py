"""The names of our sessions at OpenClaw: `agent:<its agent>:carrel:<ours>`, and back. Pure.

OpenClaw lower-cases keys, refuses some first segments (`subagent:`, `cron:`, `acp:`) and reads a meaning into others
(`thread:`, `group:`). So ours is one segment, with capital letters written as `^` and the small letter.
"""

import re

NAMESPACE = "carrel:"
_LANE = "agent:"
_COLON, _CAPITAL = "~", "^"
_ENCODED_CAPITAL = re.compile(r"\^([a-z])")
_AT_GATEWAY = re.compile(r"(?:agent:[^:]+:)?carrel:([^:]+)")


def key_at_gateway(address: str, agent: str) -> str:
    """Return the key for an address of ours, with the agent that answers there before it where one is named."""
    return (f"{_LANE}{agent}:" if agent else "") + NAMESPACE + _segment(address)


def _segment(address: str) -> str:
    if not address.startswith(_LANE):
        # A request of our own, whose address every recorder is to recognise.
        return address
    plain = address.removeprefix(_LANE).replace(":", _COLON)
    return "".join(_CAPITAL + char.lower() if "A" <= char <= "Z" else char for char in plain)


def address_of(key: str) -> str | None:
    """Return the address of the lane that a key at the gateway stands for; None for any other session."""
    found = _AT_GATEWAY.fullmatch(key)
    if found is None:
        return None
    return _LANE + _ENCODED_CAPITAL.sub(lambda small: small[1].upper(), found[1]).replace(_COLON, ":")
