"""An agent card as a client reads it: where to find it and which of its interfaces to use."""

from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from carrel.a2a.shapes import Item, items_of

WELL_KNOWN = "/.well-known/agent-card.json"
# Where servers of the first protocol versions publish it.
WELL_KNOWN_OLD = "/.well-known/agent.json"
JSON_RPC = "JSONRPC"
_PORTS = {"http": 80, "https": 443}
_PREFERRED = ((JSON_RPC, "1.0"), ("HTTP+JSON", "1.0"), (JSON_RPC, "0.3"))


class A2aInterface(Struct, frozen=True, kw_only=True):
    """One URL of an agent, with the binding and protocol version it expects there."""

    url: str
    binding: str
    version: str
    tenant: str = ""


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL, the scope of a credential; raise ValueError if it is malformed."""
    parts = urlsplit(url.strip())
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme)


def card_urls(url: str) -> tuple[str, ...]:
    """Return where to look for the card of the agent at `url`, in order; the URL of a card is used unchanged."""
    plain = url.strip().partition("#")[0]
    if urlsplit(plain).path.endswith(".json"):
        return (plain,)
    base = plain.partition("?")[0].rstrip("/")
    return (base + WELL_KNOWN, base + WELL_KNOWN_OLD)


def choose_interface(card: Item, card_url: str) -> A2aInterface:
    """Return the interface to use: JSON-RPC before HTTP+JSON, 1.0 before 0.3; ValueError if there is none.

    A card fetched over HTTPS never leads to a plain HTTP interface.
    """
    declared = interfaces_of(card, card_url)
    offered = [one for one in declared if (one.binding, one.version) in _PREFERRED and _is_safe(one.url, card_url)]
    if offered:
        return min(offered, key=lambda one: _PREFERRED.index((one.binding, one.version)))
    listed = ", ".join(f"{one.binding} {one.version} at {one.url}" for one in declared) or "none"
    raise ValueError(
        f"The agent card lists no supported interface (JSONRPC 1.0, HTTP+JSON 1.0 or JSONRPC 0.3; HTTPS if the card "
        f"came over HTTPS). It lists: {listed[:500]}."
    )


def supports_streaming(card: Item) -> bool:
    """Return whether the card says that the agent streams."""
    capabilities = card.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get("streaming") is True


def interfaces_of(card: Item, card_url: str) -> list[A2aInterface]:
    """Return the interfaces of a card in its own order, with URLs resolved against the card's."""
    declared = items_of(card.get("supportedInterfaces"))
    if not declared:
        version = card.get("protocolVersion") or "0.3"
        main = {"url": card.get("url"), "protocolBinding": card.get("preferredTransport") or JSON_RPC}
        more = [one | {"protocolBinding": one.get("transport")} for one in items_of(card.get("additionalInterfaces"))]
        declared = [one | {"protocolVersion": version} for one in (main, *more)]
    return [_interface(one, card_url) for one in declared if isinstance(one.get("url"), str) and one["url"]]


def _interface(declared: Item, card_url: str) -> A2aInterface:
    return A2aInterface(
        url=urljoin(card_url, declared["url"]),
        binding=str(declared.get("protocolBinding") or JSON_RPC).upper(),
        version=_version(declared.get("protocolVersion")),
        tenant=str(declared.get("tenant") or ""),
    )


def _version(value: Any) -> str:
    """Return major and minor only, as the protocol compares versions; 0.2 is compatible with 0.3."""
    text = str(value or "0.3")
    if text in ("0", "0.2") or text.startswith(("0.2.", "0.3.")):
        return "0.3"
    return "1.0" if text == "1" or text.startswith("1.0.") else text


def _is_safe(url: str, card_url: str) -> bool:
    try:
        scheme, card_scheme = urlsplit(url).scheme, urlsplit(card_url).scheme
    except ValueError:
        return False
    return scheme == "https" or (scheme == "http" and card_scheme != "https")
