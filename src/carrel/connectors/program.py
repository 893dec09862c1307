"""A server that is a program, over its stdin and stdout, with what it sends bounded.

The SDK's transport would keep a line of any length in memory. Everything else about the protocol is the SDK's.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from carrel.connectors.flood import FloodGuard
from carrel.connectors.model import ServerFault
from carrel.kernel.limits import MCP_MESSAGE_BYTES_MAX
from carrel.programs import CannotStart, Command, Program, running

_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


@asynccontextmanager
async def program_streams(command: Command, guard: FloodGuard) -> AsyncIterator[TransportStreams]:
    """Start a program and talk to it over its stdin and stdout; it has ended when the context is left."""
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with running(command, line_bytes_max=MCP_MESSAGE_BYTES_MAX) as program:
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(program.keep_errors)
                    group.start_soon(_read, program, incoming, guard)
                    group.start_soon(_write, program, outgoing)
                    try:
                        yield received, sent
                    finally:
                        group.cancel_scope.cancel()
            finally:
                for stream in (incoming, received, sent, outgoing):
                    stream.close()
    except CannotStart as error:
        raise ServerFault(str(error)) from error


async def _read(program: Program, incoming: _Incoming, guard: FloodGuard) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            try:
                await _pass_on(program, incoming, guard)
                await incoming.send(ServerFault(await program.how_it_ended()))
            except ServerFault as fault:
                await incoming.send(fault)
            except ValueError:
                await incoming.send(ServerFault(f"It sent a message of more than {MCP_MESSAGE_BYTES_MAX} bytes."))


async def _pass_on(program: Program, incoming: _Incoming, guard: FloodGuard) -> None:
    while line := await program.stdout.readline():
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


async def _write(program: Program, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(OSError):
        async with outgoing:
            async for item in outgoing:
                json = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                program.stdin.write(json.encode("utf-8", "replace") + b"\n")
                await program.stdin.drain()
