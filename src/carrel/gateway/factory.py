"""Opening a gateway from its settings; settings that cannot work are refused before the first step."""

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn
from urllib.parse import urlsplit

from msgspec import structs

from carrel.gateway.a2a.gateway import A2aGateway
from carrel.gateway.acp.gateway import AcpGateway, Start
from carrel.gateway.builtin.agent import BuiltinGateway
from carrel.gateway.dialects import DIALECTS
from carrel.gateway.model import Gateway, GatewayFault, OnSend, OnText, Step, keep_nothing
from carrel.gateway.model_gateway import ModelGateway
from carrel.gateway.openclaw_gateway import OpenClawGateway
from carrel.kernel import secret_from
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire

_EXPECTED = {
    "a2a": "an A2A agent or of its card, such as https://agent.example/.well-known/agent-card.json",
    "anthropic": "a server of the Anthropic Messages API, such as https://api.anthropic.com",
    "chat": "a Chat Completions server, such as http://127.0.0.1:1234",
    "openclaw": "an OpenClaw gateway, such as http://127.0.0.1:18789",
    "responses": "an Open Responses server, such as http://127.0.0.1:11434",
}


def open_gateway(
    name: str, settings: GatewaySettings, wire: Wire, env: Mapping[str, str] = os.environ, *,
    start: Start | None = None,
) -> Gateway:  # fmt: skip
    """Return the gateway that `settings` describe; raise ValueError, naming the setting, if they cannot work.

    `start` starts tasks that outlive a step, such as programs; without it, none are started.
    """
    if settings.kind == "builtin":
        return BuiltinGateway(name)
    if settings.kind == "acp":
        assert start is not None, "whoever opens such a gateway keeps its programs"
        return AcpGateway(name, settings, start, env)
    settings = structs.replace(settings, api_key=gateway_key(name, settings, env))
    _check(name, settings)
    if settings.kind == "a2a":
        return A2aGateway(name, settings, wire)
    if settings.kind == "openclaw":
        return OpenClawGateway(name, settings, wire)
    return ModelGateway(name, settings, wire, DIALECTS[settings.kind](settings))


def gateway_key(name: str, settings: GatewaySettings, env: Mapping[str, str] = os.environ) -> str:
    """Return the key, empty if none is configured; raise ValueError naming the setting if it cannot be read."""
    named = secret_from(f"gateway.{name}.api_key", settings.api_key_env, settings.api_key_file, env)
    return named or settings.api_key


def _check(name: str, settings: GatewaySettings) -> None:
    try:
        parts = urlsplit(settings.base_url.strip())
        host = parts.hostname
        has_user = parts.username is not None
    except ValueError:
        host, has_user = None, False
    if not host:
        raise ValueError(f"gateway.{name}.base_url must be the address of {_EXPECTED[settings.kind]}")
    if has_user and settings.api_key:
        raise ValueError(f"gateway.{name}.base_url must not contain a user name if gateway.{name} has an API key")
    key = settings.api_key
    if not (key.isascii() and key.isprintable() and key.strip() == key):
        raise ValueError(f"gateway.{name}.api_key contains characters or spaces that are not allowed in an HTTP header")


class MissingGateway(Gateway):
    """Stands in for a missing gateway; any other would answer with the wrong model."""

    translates = True
    takes_context = False

    def __init__(self, name: str, agent_id: str) -> None:
        self.name = name
        self._agent_id = agent_id

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> NoReturn:
        """Fail; nothing is sent, and a retry would fail as well."""
        raise self._fault()

    async def check(self) -> None:
        raise self._fault()

    def _fault(self) -> GatewayFault:
        return GatewayFault("gateway_not_configured", missing_gateway(self.name, [self._agent_id]), retryable=False)


def missing_gateway(name: str, agent_ids: Sequence[str]) -> str:
    """Say which gateway of which agents is missing, and what to do."""
    who = f"Agent {agent_ids[0]} uses" if len(agent_ids) == 1 else f"Agents {', '.join(agent_ids)} use"
    return (
        f"{who} gateway.{name}, which is not configured. Add [gateway.{name}] to the settings, or choose another one: "
        f"`carrel agents update {agent_ids[0]} --gateway NAME`. `carrel connect` sets up gateway.default."
    )
