"""The handshake with a coding agent: protocol version and capabilities of both sides. Imports the SDK."""

import asyncio
from typing import Any

from acp import PROTOCOL_VERSION
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.schema import InitializeResponse
from pydantic import ValidationError

from carrel import __version__
from carrel.gateway.acp.lines import Lines
from carrel.kernel import clip, one_line
from carrel.kernel.limits import ACP_MESSAGE_BYTES_MAX, ACP_NAME_CHARS_MAX
from carrel.programs import Program, ProgramFault, RunningProgram, start_program

_CLIENT = {
    "protocolVersion": PROTOCOL_VERSION,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False},
    "clientInfo": {"name": "carrel", "title": "Carrel", "version": __version__},
}


async def introduce(program: Program, start_seconds: int) -> str:
    """Start an agent, ask for its name, and end it; return the name, or raise ProgramFault."""
    running = await start_program(program, ACP_MESSAGE_BYTES_MAX)
    try:
        async with asyncio.TaskGroup() as group:
            errors = group.create_task(running.keep_errors())
            met = await _meet(running, start_seconds)
            errors.cancel()
    finally:
        await running.end()
    if isinstance(met, ProgramFault):
        raise met
    return met


async def _meet(running: RunningProgram, start_seconds: int) -> str | ProgramFault:
    lines = Lines(running, lambda _params: False, asyncio.Event())
    connection = Connection(_refuse, lines)
    try:
        async with asyncio.timeout(start_seconds):
            return name_of_agent(await initialize(connection))
    except TimeoutError:
        return ProgramFault(f"It did not get ready within {start_seconds} seconds.")
    except (RequestError, ValidationError):
        return ProgramFault("It does not speak the Agent Client Protocol.")
    except ConnectionError:
        return lines.fault or ProgramFault("It closed the connection.")
    except ProgramFault as fault:
        return fault
    finally:
        await connection.close()


async def _refuse(method: str, _params: Any, _is_notification: bool) -> None:
    raise RequestError.method_not_found(method)


async def initialize(connection: Connection) -> InitializeResponse:
    """Exchange versions and capabilities; return the agent's, or raise ProgramFault for another protocol version."""
    initialized = InitializeResponse.model_validate(await connection.send_request("initialize", _CLIENT))
    if initialized.protocol_version != PROTOCOL_VERSION:
        raise ProgramFault(f"It speaks version {initialized.protocol_version} of the protocol, not {PROTOCOL_VERSION}.")
    return initialized


def name_of_agent(initialized: InitializeResponse) -> str:
    info = initialized.agent_info
    return "" if info is None else clip(one_line(f"{info.name} {info.version}"), ACP_NAME_CHARS_MAX)
