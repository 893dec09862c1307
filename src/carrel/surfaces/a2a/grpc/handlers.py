"""A gRPC handler for every operation, with the protocol's own types and status codes.

Imports gRPC, so import this module only to start a gRPC server.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import grpc
from a2a.types import StreamResponse
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from starlette.datastructures import Headers

from carrel.kernel import METRICS, Access, Code, Ids, Refusal
from carrel.kernel.limits import STREAM_SEND_SECONDS_MAX
from carrel.surfaces.a2a.caller import (
    Caller,
    known_extensions,
    parse_version,
    reachable_agent,
    require_extensions,
    unsupported_version,
)
from carrel.surfaces.a2a.errors import UNAVAILABLE, A2aError, from_refusal, invalid_params
from carrel.surfaces.a2a.http_binding import last_event_id
from carrel.surfaces.a2a.operations import METHODS, SERVICE, Operation, operations_of
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.requests import check_request
from carrel.surfaces.a2a.task_stream import UpdateStream
from carrel.surfaces.http.errors import broken
from carrel.surfaces.http.identity import Peer, WrongTokens, identify_program, require_caller
from carrel.surfaces.http.revocation import until_revoked
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.streaming import first_to_end

T = TypeVar("T")
Call: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Method: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"

_log = getLogger("carrel.a2a")
# Metadata is ASCII by definition; anything else cannot be a value that we know.
_ENCODING = "latin-1"
# Deeper than any request, so that every stored message can be returned.
_NESTING_MAX = 200


class GrpcHandlers:
    def __init__(self, services: Services, wrong_tokens: WrongTokens, ids: Ids, base_url: str) -> None:
        self._services = services
        self._wrong_tokens = wrong_tokens
        self._ids = ids
        self._base_url = base_url
        self._operations = operations_of(services)

    def generic_handler(self) -> grpc.GenericRpcHandler:
        methods = {
            name: self._stream(name, operation) if operation.streams else self._unary(name, operation)
            for name, operation in self._operations.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE.full_name, methods)

    def _unary(self, name: str, operation: Operation) -> Method:
        result_type = GetMessageClass(METHODS[name].output_type)

        async def serve(raw: bytes, call: Call) -> bytes:
            async def work() -> bytes:
                caller, request = await self._read(call, operation, raw)
                result = await operation.perform(caller, request)
                if caller.headers:
                    await call.send_initial_metadata(_metadata(caller))
                return ParseDict(result, result_type(), max_recursion_depth=_NESTING_MAX).SerializeToString()

            return await self._respond(call, name, work)

        return grpc.unary_unary_rpc_method_handler(serve)

    def _stream(self, name: str, operation: Operation) -> Method:
        async def serve(raw: bytes, call: Call) -> None:
            async def work() -> None:
                caller, request = await self._read(call, operation, raw)
                updates = await operation.perform(caller, request, last_event_id(asker_of_call(call).headers))
                # Not together with the first update: if the client never reads it, the call could not be ended.
                await call.send_initial_metadata(_metadata(caller))
                await self._send_until_closing(call, caller.access, updates)

            await self._respond(call, name, work)

        return grpc.unary_stream_rpc_method_handler(serve)

    async def _respond(self, call: Call, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work`; an error that it raises ends the call."""
        request_id, route = self._ids.new("req"), f"/{SERVICE.full_name}/{name}"
        id_metadata = ("x-request-id", request_id)
        call.set_trailing_metadata((id_metadata,))
        try:
            result = await work()
        except A2aError as raised:
            error = raised
        except Refusal as refusal:
            error = from_refusal(refusal)
        except Exception:  # boundary: a failed call must still get a status
            _log.exception("request_failed", extra={"request_id": request_id, "route": route})
            error = from_refusal(broken())
        else:
            METRICS.count("http.requests.count", "", route=route, status="OK")
            return result
        METRICS.count("http.requests.count", "", route=route, status=error.kind.grpc)
        details = ("grpc-status-details-bin", status_of(error).SerializeToString())
        return await call.abort(grpc.StatusCode[error.kind.grpc], error.message, (id_metadata, details))

    async def _read(self, call: Call, operation: Operation, raw: bytes) -> tuple[Caller, Any]:
        """Return the caller and the request; the tenant that the request names is the agent."""
        asker = asker_of_call(call)
        access = await self._identify(asker)
        if parse_version(asker.headers.get("a2a-version", "")) == "0.3":
            raise unsupported_version("A2A 0.3 is not supported over gRPC")
        try:
            request: Any = operation.request.FromString(raw)
        except DecodeError as error:
            raise invalid_params("request", f"This is not a {operation.request.DESCRIPTOR.name}.") from error
        agent = await self._services.db.read(lambda tx: reachable_agent(tx, access, request.tenant or None))
        extensions = known_extensions(asker.headers, self._services)
        caller = Caller(access=access, agent=agent, base_url=self._base_url, extensions=extensions)
        require_extensions(caller, self._services)
        check_request(request)
        return caller, request

    async def _send_until_closing(self, call: Call, access: Access, updates: UpdateStream) -> None:
        """Send updates until they end, the caller's rights end, or the server stops."""
        sending, refused, _ = await first_to_end(
            self._send_all(call, updates),
            until_revoked(self._services, access, lambda: self._identify(asker_of_call(call))),
            self._services.closing.wait(),
        )
        if sending.cancelled() and not refused.cancelled():
            raise refused.result()
        if sending.cancelled():
            raise Refusal(Code.DRAINING, "The server is stopping; subscribe to the task again.", retry_after_seconds=5)
        if (error := sending.result()) is not None:
            raise error

    async def _send_all(self, call: Call, updates: UpdateStream) -> A2aError | None:
        """Send updates until they end; return the error that cut them short, if one did."""
        try:
            async with contextlib.aclosing(updates):
                async for update in updates:
                    if update is not None:
                        await _write(call, update[1])
        except A2aError as error:
            return error
        except Refusal as refusal:
            return from_refusal(refusal)
        return None

    async def _identify(self, asker: Peer) -> Access:
        return require_caller(await identify_program(asker, self._services, self._wrong_tokens))


def _metadata(caller: Caller) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in caller.headers.items())


async def _write(call: Call, update: Json) -> None:
    try:
        async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
            await call.write(ParseDict(update, StreamResponse(), max_recursion_depth=_NESTING_MAX).SerializeToString())
    except TimeoutError:
        raise A2aError(UNAVAILABLE, "The client read the stream too slowly; subscribe to the task again.") from None


def asker_of_call(call: Call) -> Peer:
    """Return who calls, with the metadata as headers; binary values are ignored."""
    metadata = [(name, value) for name, value in call.invocation_metadata() or () if isinstance(value, str)]
    raw = [(name.lower().encode(), value.encode(_ENCODING, "replace")) for name, value in metadata]
    return Peer(headers=Headers(raw=raw), address=address_of_peer(call.peer()))


def address_of_peer(peer: str) -> str | None:
    """Return the address in a gRPC peer name, such as `ipv4:192.0.2.1:5000` or `ipv6:%5B::1%5D:5000`."""
    kind, _, address = peer.partition(":")
    return unquote(address).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None


def status_of(error: A2aError) -> Status:
    """Return the error as a google.rpc.Status with its code, message and details."""
    number, _ = grpc.StatusCode[error.kind.grpc].value
    status = ParseDict({"code": number, "message": error.message, "details": error.details()}, Status())
    if error.retry_after_seconds is not None:
        status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=error.retry_after_seconds)))
    return status
