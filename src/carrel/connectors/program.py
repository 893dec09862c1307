"""A server that runs as a program, connected to the SDK: reads messages from its lines.

The SDK's transport would keep a line of any length in memory. Everything else about the protocol is the SDK's.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from carrel.kernel.limits import MCP_MESSAGE_BYTES_MAX
from carrel.programs import FloodGuard, Program, ProgramFault, RunningProgram, start_program

_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


@asynccontextmanager
async def program_streams(program: Program, guard: FloodGuard) -> AsyncIterator[TransportStreams]:
    """Start a program and talk to it over stdin and stdout; it has ended when the context exits."""
    running = await start_program(program, MCP_MESSAGE_BYTES_MAX)
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(running.keep_errors)
            group.start_soon(_read, running, incoming, guard)
            group.start_soon(_write, running, outgoing)
            try:
                yield received, sent
            finally:
                group.cancel_scope.cancel()
    finally:
        for stream in (incoming, received, sent, outgoing):
            stream.close()
        await running.end()


async def _read(running: RunningProgram, incoming: _Incoming, guard: FloodGuard) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            try:
                while line := await running.read_line():
                    guard.received(size=len(line))
                    if message := _message(line):
                        await incoming.send(message)
                    else:
                        # Some programs print other lines before they speak the protocol.
                        guard.received(messages=1)
                await incoming.send(await running.how_it_ended())
            except ProgramFault as fault:
                await incoming.send(fault)


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _write(running: RunningProgram, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(OSError):
        async with outgoing:
            async for item in outgoing:
                json = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await running.write_line(json.encode("utf-8", "replace"))
