"""How many tokens a model takes: what the settings say, else what its server says in the list of its models."""

from carrel.gateway.model import Gateway
from carrel.gateway.model_gateway import ModelGateway
from carrel.kernel.settings import GatewaySettings


def model_window(gateway: Gateway, settings: GatewaySettings, model: str) -> int | None:
    """Return how many tokens a model takes; None where nobody has said so."""
    if settings.context_tokens:
        return settings.context_tokens
    return gateway.windows.get(model or settings.model) if isinstance(gateway, ModelGateway) else None
