"""The gRPC server, started if the settings name a port; gRPC is not imported otherwise."""

import asyncio
import os
from typing import TYPE_CHECKING

from carrel.kernel import Code, Ids, Refusal, limits
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.services import Services

if TYPE_CHECKING:
    from grpc.aio import Server

_OPTIONS = (
    # Without this, two servers on one port would silently share its calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", limits.BODY_BYTES_MAX),
    # What could be stored can be read: the client sets its own limit.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", limits.REQUEST_HEAD_BYTES_MAX),
    ("grpc.absolute_max_metadata_size", limits.REQUEST_HEAD_BYTES_MAX),
    ("grpc.max_concurrent_streams", limits.GRPC_CALLS_PER_CONNECTION_MAX),
    ("grpc.server_handshake_timeout_ms", limits.REQUEST_HEAD_SECONDS_MAX * 1000),
    ("grpc.max_connection_idle_ms", limits.KEEP_ALIVE_SECONDS * 1000),
    # Streams have no pings of their own: keepalive finds clients that are gone.
    ("grpc.keepalive_time_ms", limits.STREAM_PING_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", limits.STREAM_SEND_SECONDS_MAX * 1000),
    # Clients may send keepalive pings too; by default the server would close the connection.
    ("grpc.http2.min_ping_interval_without_data_ms", limits.GRPC_PING_SECONDS_MIN * 1000),
)


class GrpcServer:
    def __init__(self, server: "Server", closing: asyncio.Event) -> None:
        self._server = server
        self._closing = closing

    async def serve_until_closing(self) -> None:
        """Serve until Carrel stops and the calls have ended or run out of time."""
        try:
            await self._closing.wait()
        finally:
            await self._server.stop(limits.GRPC_END_SECONDS_MAX)


async def open_grpc(services: Services, wrong_tokens: WrongTokens, ids: Ids, base_url: str) -> GrpcServer | None:
    """Start the gRPC server on the port that the settings name; None if they name none.

    `base_url` is where this server's URLs begin, as far as it knows: a gRPC call does not say how it was addressed.
    """
    settings = services.settings
    if not settings.a2a.enabled or not settings.a2a.grpc_port:
        return None
    # The library writes to stderr, which is for our log; it reports what matters by exceptions as well.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from grpc.aio import server as new_server

        from carrel.surfaces.a2a.grpc.handlers import GrpcHandlers
    except ImportError as error:
        raise Refusal(
            Code.INVALID_PARAMS, "a2a.grpc_port needs the gRPC extra: pip install 'carrel[grpc]'", field="a2a.grpc_port"
        ) from error
    handlers = [GrpcHandlers(services, wrong_tokens, ids, settings.server.public_url or base_url).generic_handler()]
    server = new_server(handlers=handlers, options=_OPTIONS, maximum_concurrent_rpcs=limits.GRPC_CALLS_MAX)
    host, port = settings.server.host, settings.a2a.grpc_port
    try:
        server.add_insecure_port(f"{f'[{host}]' if ':' in host else host}:{port}")
    except RuntimeError as error:
        raise Refusal(
            Code.CONFLICT,
            f"Cannot listen on {host}:{port} for gRPC. If another server uses the port, set another a2a.grpc_port.",
        ) from error
    await server.start()
    return GrpcServer(server, services.closing)
