"""A server that is a program: started without a shell, in a process group of its own, with what it sends bounded.

The SDK's transport would keep a line of any length in memory. Everything else about the protocol is the SDK's.
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from carrel.connectors.flood import FloodGuard
from carrel.connectors.launch import Program
from carrel.connectors.model import ServerFault
from carrel.kernel import redact
from carrel.kernel.limits import MCP_END_SECONDS, MCP_ERROR_OUTPUT_BYTES_MAX, MCP_MESSAGE_BYTES_MAX

_PIECE_BYTES = 65_536
_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


@asynccontextmanager
async def program_streams(program: Program, guard: FloodGuard) -> AsyncIterator[TransportStreams]:
    """Start a program and talk to it over its stdin and stdout; it has ended when the context is left."""
    process = await _start(program)
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    errors = bytearray()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_errors, process, errors)
            group.start_soon(_read, process, incoming, guard, errors)
            group.start_soon(_write, process, outgoing)
            try:
                yield received, sent
            finally:
                group.cancel_scope.cancel()
    finally:
        for stream in (incoming, received, sent, outgoing):
            stream.close()
        await _end(process)


async def _start(program: Program) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            program.command, *program.args, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MCP_MESSAGE_BYTES_MAX,
            cwd=program.cwd, env=dict(program.env), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ServerFault(f"The command {program.command} cannot be started: {why}.") from error


async def _read(process: Process, incoming: _Incoming, guard: FloodGuard, errors: bytearray) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            try:
                await _pass_on(process, incoming, guard)
                await incoming.send(await _how_it_ended(process, errors))
            except ServerFault as fault:
                await incoming.send(fault)
            except ValueError:
                await incoming.send(ServerFault(f"It sent a message of more than {MCP_MESSAGE_BYTES_MAX} bytes."))


async def _pass_on(process: Process, incoming: _Incoming, guard: FloodGuard) -> None:
    assert process.stdout is not None, "started with a pipe"
    while line := await process.stdout.readline():
        guard.received(size=len(line))
        message = _message(line)
        if message is None:
            # Some programs print what they do before they speak the protocol.
            guard.received(messages=1)
        else:
            await incoming.send(message)


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _how_it_ended(process: Process, errors: bytearray) -> ServerFault:
    has_ended = await _has_ended(process)
    how = f"ended with exit code {process.returncode}" if has_ended else "closed its output"
    said = errors.decode(errors="replace").strip().splitlines()[-1:]
    return ServerFault(f"The program {how}." + (f" Its last words: {redact(said[0])}" if said else ""))


async def _write(process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None, "started with a pipe"
    with suppress(OSError):
        async with outgoing:
            async for item in outgoing:
                json = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(json.encode("utf-8", "replace") + b"\n")
                await process.stdin.drain()


async def _keep_errors(process: Process, errors: bytearray) -> None:
    """Keep the end of what the program writes to stderr, and never let it wait for us."""
    assert process.stderr is not None, "started with a pipe"
    while piece := await process.stderr.read(_PIECE_BYTES):
        errors += piece
        del errors[:-MCP_ERROR_OUTPUT_BYTES_MAX]


async def _end(process: Process) -> None:
    """Close the program's input and wait a little; then end it, and whatever it has started."""
    assert process.stdin is not None, "started with a pipe"
    process.stdin.close()
    with anyio.CancelScope(shield=True):
        try:
            if not await _has_ended(process):
                _signal(process, signal.SIGTERM)
                await _has_ended(process)
        finally:
            _signal(process, signal.SIGKILL)
            await _has_ended(process)


async def _has_ended(process: Process) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(MCP_END_SECONDS):
            await process.wait()
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    """Send a signal to the process group, which may have members after the program itself has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
