"""The API key of a gateway: from its setting, an environment variable, or a file that only its owner can read."""

import os
from collections.abc import Mapping

from carrel.kernel import secret_from
from carrel.kernel.settings import GatewaySettings


def gateway_key(name: str, settings: GatewaySettings, env: Mapping[str, str] = os.environ) -> str:
    """Return the key, empty if none is configured; raise ValueError naming the setting if it cannot be read."""
    named = secret_from(f"gateway.{name}.api_key", settings.api_key_env, settings.api_key_file, env)
    return named or settings.api_key
