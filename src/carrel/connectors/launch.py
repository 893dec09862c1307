"""How a server is reached: its settings, with the values of the variables that they name."""

import os
import shlex
from collections.abc import Mapping

from msgspec import Struct

from carrel.kernel.settings import McpServerSettings
from carrel.programs import Program, ProgramFault, missing_variable, program_of


class Launch(Struct, frozen=True, kw_only=True):
    """A program or, without one, the headers of requests; and the secrets in either."""

    program: Program | None
    headers: Mapping[str, str]
    secrets: tuple[str, ...]


def address_of(settings: McpServerSettings) -> str:
    """Return what the settings name: a command line or a URL."""
    return shlex.join((settings.command, *settings.args)) if settings.command else settings.url


def launch_of(name: str, settings: McpServerSettings, env: Mapping[str, str] = os.environ) -> Launch:
    if missing := missing_variable((*settings.env, *settings.headers.values()), env):
        where = "env" if missing in settings.env else "headers"
        raise ProgramFault(f"mcp.{name}.{where} names the environment variable {missing}, which is not set.")
    headers = {header: env[variable] for header, variable in settings.headers.items()}
    program = None
    if settings.command:
        program = program_of(settings.command, settings.args, settings.env, env, settings.cwd or None)
    secrets = (*(env[one] for one in settings.env), *headers.values())
    return Launch(program=program, headers=headers, secrets=secrets)
