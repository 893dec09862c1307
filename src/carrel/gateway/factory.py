"""From a gateway's settings to a gateway; what cannot work is refused here, before the first step."""

from urllib.parse import urlsplit

from carrel.gateway.a2a.gateway import A2aGateway
from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.model import Gateway
from carrel.gateway.responses import ResponsesGateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire

_WANTED = {
    "a2a": "an A2A agent or of its card, such as https://agent.example/.well-known/agent-card.json",
    "responses": "an Open Responses server, such as http://127.0.0.1:11434",
}


def open_gateway(name: str, settings: GatewaySettings, wire: Wire) -> Gateway:
    """The gateway that `settings` describe; raises ValueError, naming the setting, when they cannot work."""
    if settings.kind == "builtin":
        return BuiltinGateway(name)
    _check(name, settings)
    if settings.kind == "a2a":
        return A2aGateway(name, settings, wire)
    return ResponsesGateway(name, settings, wire)


def _check(name: str, settings: GatewaySettings) -> None:
    try:
        parts = urlsplit(settings.base_url.strip())
        host = parts.hostname
        has_user = parts.username is not None
    except ValueError:
        host, has_user = None, False
    if not host:
        raise ValueError(f"gateway.{name}.base_url must be the address of {_WANTED[settings.kind]}")
    if has_user and settings.api_key:
        raise ValueError(f"gateway.{name}.base_url must not carry a user name beside gateway.{name}.api_key")
    if (
        not settings.api_key.isascii()
        or not settings.api_key.isprintable()
        or settings.api_key.strip() != settings.api_key
    ):
        raise ValueError(f"gateway.{name}.api_key holds characters or spaces that a header cannot carry")
