"""Secrets that settings only point to: in an environment variable, or in a file that only its owner can read."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from carrel.kernel.limits import API_KEY_BYTES_MAX


def secret_from(setting: str, variable: str, file: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the secret, empty if neither is named; raise ValueError naming the setting if it cannot be read.

    The settings are called `setting` with the endings `_env` and `_file`.
    """
    if variable:
        secret = env.get(variable, "").strip()
        if not secret:
            raise ValueError(f"{setting}_env names the environment variable {variable}, which is not set")
        return secret
    if file:
        try:
            return _read_private(Path(file).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{setting}_file, {file}, cannot be used: {why}") from None
    return ""


def _read_private(path: Path) -> str:
    # Non-blocking: opening a named pipe would otherwise hang the server until somebody writes to it.
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
