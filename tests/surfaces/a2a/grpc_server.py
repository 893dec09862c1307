"""A server with a gRPC port, the official client for it, and calls with the plain stub."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx
from a2a.client import (
    A2ACardResolver,
    AuthInterceptor,
    Client,
    ClientCallContext,
    ClientConfig,
    ClientFactory,
    CredentialService,
)
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest, Task
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from msgspec import Struct, structs

from carrel.kernel import Ids, SystemClock, system_chance
from carrel.kernel.settings import A2aSettings, Settings
from carrel.surfaces import WrongTokens
from carrel.surfaces.a2a import open_grpc
from tests.conformance.kits import free_port
from tests.harness.server import HttpServer, open_http_server

WAIT_SECONDS_MAX = 20.0
Metadata = tuple[tuple[str, str], ...]


class Token(CredentialService):
    """Provides the caller's token for any scheme."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        assert security_scheme_name == "bearer"
        return self._token


class GrpcServer(Struct, frozen=True, kw_only=True):
    """A running server and the address of its gRPC port."""

    opened: HttpServer
    address: str
    wrong: WrongTokens

    @property
    def owner(self) -> Metadata:
        """The metadata of the owner's calls."""
        return bearer(self.opened.owner)

    @asynccontextmanager
    async def client(self, token: str = "", *, streaming: bool = True) -> AsyncIterator[Client]:
        """Open the official client from the card that it finds, with gRPC as its only binding."""
        async with httpx.AsyncClient(timeout=WAIT_SECONDS_MAX) as http:
            card = await A2ACardResolver(http, self.opened.url).get_agent_card()
        config = ClientConfig(
            streaming=streaming, supported_protocol_bindings=["GRPC"], grpc_channel_factory=grpc.aio.insecure_channel
        )
        client = ClientFactory(config).create(card, [AuthInterceptor(Token(token or self.opened.owner))])
        try:
            yield client
        finally:
            await client.close()

    @asynccontextmanager
    async def calls(self, *options: tuple[str, Any]) -> AsyncIterator[Any]:
        """Open the protocol's own stub, which has no types."""
        async with grpc.aio.insecure_channel(self.address, options=options) as channel:
            yield A2AServiceStub(channel)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def open_grpc_server(url: str, a2a: A2aSettings | None = None, **sections: Any) -> AsyncIterator[GrpcServer]:
    """Start a server with a gRPC port on the store at `url`."""
    port = free_port()
    settings = Settings(a2a=structs.replace(a2a or A2aSettings(), grpc_port=port), **sections)
    wrong, ids = WrongTokens(SystemClock()), Ids(SystemClock(), system_chance())
    async with open_http_server(url, settings=settings) as opened, asyncio.TaskGroup() as group:
        server = await open_grpc(opened.services, wrong, ids, opened.url)
        assert server is not None
        group.create_task(server.serve_until_closing())
        yield GrpcServer(opened=opened, address=f"127.0.0.1:{port}", wrong=wrong)
        opened.services.closing.set()


def bearer(token: str, **more: str) -> Metadata:
    """Return the metadata of a caller with that token."""
    extra = tuple((name.replace("_", "-"), value) for name, value in more.items())
    return (("authorization", f"Bearer {token}"), *extra)


def send_request(text: str, message_id: str, *, task: Task | None = None, **configuration: Any) -> SendMessageRequest:
    """Return a request that sends a text."""
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(**configuration))


def error_of(error: grpc.aio.AioRpcError) -> tuple[str, list[dict[str, Any]]]:
    """Return the code of a refused call and its details as JSON; status and details must agree."""
    raw = dict(error.trailing_metadata())["grpc-status-details-bin"]
    assert isinstance(raw, bytes)
    status = Status.FromString(raw)
    assert (status.code, status.message) == (error.code().value[0], error.details())
    details = [MessageToDict(detail) for detail in status.details]
    return error.code().name, [{name: value for name, value in one.items() if name != "@type"} for one in details]
