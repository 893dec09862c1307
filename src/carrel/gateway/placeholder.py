"""The gateway of an agent whose gateway is not in the settings: every step fails and says so."""

from collections.abc import Sequence
from typing import NoReturn

from carrel.gateway.model import Gateway, GatewayFault, OnSend, OnText, Step, keep_nothing


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
        """Fail: no step can be taken."""
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
