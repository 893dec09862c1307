"""How a server is reached: what the settings say, with the values of the variables that they name."""

import os
import shlex
from collections.abc import Mapping

from msgspec import Struct

from carrel.connectors.model import ServerFault
from carrel.kernel.settings import McpServerSettings
from carrel.programs import Command

# What every program is passed: where it is, and who runs it. None of it is secret.
_PASSED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


class Launch(Struct, frozen=True, kw_only=True):
    """A program to start or, without one, the headers of requests; and the secrets among both."""

    command: Command | None
    headers: Mapping[str, str]
    secrets: tuple[str, ...]


def address_of(settings: McpServerSettings) -> str:
    """Return what the settings say a server is: its command line, or its URL."""
    return shlex.join((settings.command, *settings.args)) if settings.command else settings.url


def launch_of(name: str, settings: McpServerSettings, env: Mapping[str, str] = os.environ) -> Launch:
    """Return how to reach a server; raise ServerFault, naming the setting, where a variable is missing."""
    missing = [one for one in (*settings.env, *settings.headers.values()) if not env.get(one)]
    if missing:
        where = "env" if missing[0] in settings.env else "headers"
        raise ServerFault(f"mcp.{name}.{where} names the environment variable {missing[0]}, which is not set.")
    passed = {one: env[one] for one in settings.env}
    headers = {header: env[variable] for header, variable in settings.headers.items()}
    command = None
    if settings.command:
        usual = {one: env[one] for one in _PASSED if one in env}
        command = Command(settings.command, settings.args, usual | passed, settings.cwd or None)
    return Launch(command=command, headers=headers, secrets=(*passed.values(), *headers.values()))
