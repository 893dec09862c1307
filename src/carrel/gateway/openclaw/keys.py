"""The names of our sessions at OpenClaw: `agent:<its agent>:carrel:<ours>`, and back. Pure.

OpenClaw lower-cases keys, refuses some first segments (`subagent:`, `cron:`, `acp:`) and gives others a meaning
(`thread:`, `group:`). So ours becomes one segment, with a capital letter written as `^` and the small letter.
"""

import re

NAMESPACE = "carrel:"
_LANE = "agent:"
_COLON, _CAPITAL = "~", "^"
_ENCODED_CAPITAL = re.compile(r"\^([a-z])")
_AT_GATEWAY = re.compile(r"(?:agent:[^:]+:)?carrel:([^:]+)")


def key_at_gateway(address: str, agent: str) -> str:
    """Return the key for one of our addresses, prefixed with the agent that answers there, if one is named."""
    return (f"{_LANE}{agent}:" if agent else "") + NAMESPACE + _segment(address)


def _segment(address: str) -> str:
    if not address.startswith(_LANE):
        # A request of our own, whose address every recorder must recognise.
        return address
    plain = address.removeprefix(_LANE).replace(":", _COLON)
    return "".join(_CAPITAL + char.lower() if "A" <= char <= "Z" else char for char in plain)


def address_of(key: str) -> str | None:
    """Return our address for a key at the gateway; None for any other session."""
    found = _AT_GATEWAY.fullmatch(key)
    if found is None:
        return None
    return _LANE + _ENCODED_CAPITAL.sub(lambda small: small[1].upper(), found[1]).replace(_COLON, ":")
