"""The context window of a model in tokens: from the settings, else from its server's list of models."""

from carrel.gateway.model import Gateway
from carrel.gateway.model_gateway import ModelGateway
from carrel.kernel.settings import GatewaySettings


def model_window(gateway: Gateway, settings: GatewaySettings, model: str) -> int | None:
    """Return how many tokens a model takes; None if that is unknown."""
    if settings.context_tokens:
        return settings.context_tokens
    return gateway.windows.get(model or settings.model) if isinstance(gateway, ModelGateway) else None
