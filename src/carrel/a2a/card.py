"""An agent's card as a client reads it: where it may lie, and which of its interfaces to speak to. Pure."""

from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from carrel.a2a.shapes import Item, items_of

WELL_KNOWN = "/.well-known/agent-card.json"
# Where servers of the first protocol versions keep it.
WELL_KNOWN_OLD = "/.well-known/agent.json"
JSON_RPC = "JSONRPC"
HTTP_JSON = "HTTP+JSON"
_SPOKEN = ((JSON_RPC, "1.0"), (HTTP_JSON, "1.0"), (JSON_RPC, "0.3"))


class A2aInterface(Struct, frozen=True, kw_only=True):
    """One address at which an agent listens, and how it wants to be spoken to there."""

    url: str
    binding: str
    version: str
    tenant: str = ""


def card_addresses(url: str) -> tuple[str, ...]:
    """Where the card of the agent at `url` may lie, in the order to look; an address of a card is its own."""
    plain = url.strip().partition("#")[0]
    if urlsplit(plain).path.endswith(".json"):
        return (plain,)
    base = plain.partition("?")[0].rstrip("/")
    return (base + WELL_KNOWN, base + WELL_KNOWN_OLD)


def choose_interface(card: Item, card_url: str) -> A2aInterface:
    """The interface to use: JSON-RPC before HTTP+JSON, 1.0 before 0.3; ValueError, in words, when there is none.

    An agent whose card came encrypted is not spoken to in the clear, whatever its card says.
    """
    offered = [interface for interface in interfaces_of(card, card_url) if _is_safe(interface.url, card_url)]
    for binding, version in _SPOKEN:
        for interface in offered:
            if (interface.binding, interface.version) == (binding, version):
                return interface
    seen = ", ".join(f"{one.binding} {one.version} at {one.url}" for one in interfaces_of(card, card_url)) or "none"
    raise ValueError(
        f"Its card names no interface that can be used here, which would be JSONRPC 1.0, HTTP+JSON 1.0 or JSONRPC 0.3, "
        f"encrypted if the card is. It names: {seen[:500]}."
    )


def does_stream(card: Item) -> bool:
    """Whether the agent says that it streams."""
    capabilities = card.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get("streaming") is True


def interfaces_of(card: Item, card_url: str) -> list[A2aInterface]:
    """The interfaces a card names, in its order; relative addresses are relative to the card."""
    declared = items_of(card.get("supportedInterfaces"))
    if not declared:
        version = card.get("protocolVersion") or "0.3"
        main = {"url": card.get("url"), "protocolBinding": card.get("preferredTransport") or JSON_RPC}
        more = [one | {"protocolBinding": one.get("transport")} for one in items_of(card.get("additionalInterfaces"))]
        declared = [one | {"protocolVersion": version} for one in (main, *more)]
    return [_interface(one, card_url) for one in declared if isinstance(one.get("url"), str) and one["url"]]


def _interface(told: Item, card_url: str) -> A2aInterface:
    return A2aInterface(
        url=urljoin(card_url, told["url"]),
        binding=str(told.get("protocolBinding") or JSON_RPC).upper(),
        version=_version(told.get("protocolVersion")),
        tenant=str(told.get("tenant") or ""),
    )


def _version(told: Any) -> str:
    """Major and minor, as the protocol compares them; patches differ in nothing, and 0.2 spoke what 0.3 speaks."""
    text = str(told or "0.3")
    if text in ("0", "0.2") or text.startswith(("0.2.", "0.3.")):
        return "0.3"
    return "1.0" if text == "1" or text.startswith("1.0.") else text


def _is_safe(url: str, card_url: str) -> bool:
    try:
        scheme, asked = urlsplit(url).scheme, urlsplit(card_url).scheme
    except ValueError:
        return False
    return scheme == "https" or (scheme == "http" and asked != "https")
