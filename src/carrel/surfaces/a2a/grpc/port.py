"""The port for A2A over gRPC: opened where the settings name one, and nothing of gRPC is imported otherwise."""

import asyncio
import os
from typing import TYPE_CHECKING

from carrel.kernel import Code, Ids, Refusal
from carrel.kernel.limits import (
    BODY_BYTES_MAX,
    GRPC_CALLS_MAX,
    GRPC_CALLS_PER_CONNECTION_MAX,
    GRPC_END_SECONDS_MAX,
    GRPC_PING_SECONDS_MIN,
    KEEP_ALIVE_SECONDS,
    REQUEST_HEAD_BYTES_MAX,
    REQUEST_HEAD_SECONDS_MAX,
    STREAM_PING_SECONDS,
    STREAM_SEND_SECONDS_MAX,
)
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens

if TYPE_CHECKING:
    from grpc.aio import Server

# The library writes lines of its own to stderr, which is for our log; what matters it tells us by exceptions, too.
_QUIET = {"GRPC_VERBOSITY": "NONE"}
_OPTIONS = (
    # Two servers on one port would share its calls without a word.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", BODY_BYTES_MAX),
    # What may be stored may be shown: the caller says how much it takes.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", REQUEST_HEAD_BYTES_MAX),
    ("grpc.absolute_max_metadata_size", REQUEST_HEAD_BYTES_MAX),
    ("grpc.max_concurrent_streams", GRPC_CALLS_PER_CONNECTION_MAX),
    ("grpc.server_handshake_timeout_ms", REQUEST_HEAD_SECONDS_MAX * 1000),
    ("grpc.max_connection_idle_ms", KEEP_ALIVE_SECONDS * 1000),
    # Streams carry no signs of life of their own: the connection finds out who has vanished without a word.
    ("grpc.keepalive_time_ms", STREAM_PING_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", STREAM_SEND_SECONDS_MAX * 1000),
    # Callers may look after their connections, too, which is by default a reason to hang up.
    ("grpc.http2.min_ping_interval_without_data_ms", GRPC_PING_SECONDS_MIN * 1000),
)


class GrpcPort:
    """An open port; calls are answered until the house closes."""

    def __init__(self, server: "Server", closing: asyncio.Event) -> None:
        self._server = server
        self._closing = closing

    async def serve_until_closing(self) -> None:
        """Return once the house closes and the calls have ended or were given time to."""
        try:
            await self._closing.wait()
        finally:
            await self._server.stop(GRPC_END_SECONDS_MAX)


async def open_grpc(house: House, wrong: WrongTokens, ids: Ids, base_url: str) -> GrpcPort | None:
    """The port that the settings name, answering already; None where there is to be none.

    `base_url` is where this server's web addresses begin, as far as it knows: a call does not tell under which it came.
    """
    settings = house.settings
    if not settings.a2a.enabled or not settings.a2a.grpc_port:
        return None
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        from grpc.aio import server as new_server

        from carrel.surfaces.a2a.grpc.calls import GrpcCalls
    except ImportError as error:
        raise Refusal(
            Code.INVALID_PARAMS,
            "a2a.grpc_port needs the extra for gRPC: pip install 'carrel[grpc]'",
            field="a2a.grpc_port",
        ) from error
    calls = GrpcCalls(house, wrong, ids, settings.server.public_url or base_url)
    server = new_server(handlers=[calls.handlers()], options=_OPTIONS, maximum_concurrent_rpcs=GRPC_CALLS_MAX)
    host, port = settings.server.host, settings.a2a.grpc_port
    try:
        server.add_insecure_port(f"{f'[{host}]' if ':' in host else host}:{port}")
    except RuntimeError as error:
        raise Refusal(
            Code.CONFLICT,
            f"Cannot listen on {host}:{port} for gRPC; is another server there? Set another a2a.grpc_port.",
        ) from error
    await server.start()
    return GrpcPort(server, house.closing)
