"""The API key of a gateway: from its setting, an environment variable, or a file that only its owner can read."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from carrel.kernel.limits import API_KEY_BYTES_MAX
from carrel.kernel.settings import GatewaySettings


def gateway_key(name: str, settings: GatewaySettings, env: Mapping[str, str] = os.environ) -> str:
    """Return the key, empty if none is configured; raise ValueError, naming the setting, if it cannot be had."""
    if settings.api_key_env:
        key = env.get(settings.api_key_env, "").strip()
        if not key:
            raise ValueError(
                f"gateway.{name}.api_key_env names the environment variable {settings.api_key_env}, which is not set"
            )
        return key
    if settings.api_key_file:
        try:
            return _read_private(Path(settings.api_key_file).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"gateway.{name}.api_key_file, {settings.api_key_file}, cannot be used: {why}") from None
    return settings.api_key


def _read_private(path: Path) -> str:
    # Not blocking: a named pipe would otherwise hold up the server until somebody writes to it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a file")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"others than its owner may read or change it. Run: chmod 600 {path}")
        content = file.read(API_KEY_BYTES_MAX + 1)
    if len(content) > API_KEY_BYTES_MAX:
        raise ValueError(f"it has more than {API_KEY_BYTES_MAX} bytes, which no key has")
    key = content.decode("utf-8", "replace").strip()
    if not key:
        raise ValueError("it is empty")
    return key
