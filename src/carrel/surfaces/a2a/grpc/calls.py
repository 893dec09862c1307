"""A2A over gRPC: calls in the protocol's own types and codes, answered by the operations of every binding.

Imports gRPC, so nobody imports this file before a port for it is to be opened.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import grpc
from a2a.types import StreamResponse, a2a_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from starlette.datastructures import Headers

from carrel.kernel import METRICS, Code, Ids, Refusal, elapsed_seconds
from carrel.kernel.limits import STREAM_PING_SECONDS, STREAM_SEND_SECONDS_MAX
from carrel.surfaces.a2a.binding import last_seen
from carrel.surfaces.a2a.caller import (
    Caller,
    agent_in_reach,
    known_extensions,
    read_version,
    require_extensions,
    unsupported_version,
)
from carrel.surfaces.a2a.errors import UNAVAILABLE, A2aError, from_refusal
from carrel.surfaces.a2a.operations import OPERATIONS, Operation, Operations
from carrel.surfaces.a2a.params import check_request, read_bytes
from carrel.surfaces.a2a.task_view import Json
from carrel.surfaces.a2a.tasks import Frames
from carrel.surfaces.http.errors import broken
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import Asker, WrongTokens, identify_program, require_caller

T = TypeVar("T")
Call: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Method: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"

_log = getLogger("carrel.a2a")
_DESCRIBED = a2a_pb2.DESCRIPTOR.services_by_name["A2AService"]
# Values are ASCII by definition; one that is not cannot be a name that we know.
_CHARACTERS = "latin-1"
# Deeper than a request can be, so that whatever was sent can be shown.
_NESTING_MAX = 200


class GrpcCalls:
    """Answers calls; each operation is a method of its own."""

    def __init__(self, house: House, wrong: WrongTokens, ids: Ids, base_url: str) -> None:
        self._house = house
        self._wrong = wrong
        self._ids = ids
        self._base_url = base_url
        self._operations = Operations(house)

    def handlers(self) -> grpc.GenericRpcHandler:
        """Every method, for the server."""
        methods = {
            name: self._stream(name, operation) if operation.streams else self._unary(name, operation)
            for name, operation in OPERATIONS.items()
        }
        return grpc.method_handlers_generic_handler(_DESCRIBED.full_name, methods)

    def _unary(self, name: str, operation: Operation) -> Method:
        answer = GetMessageClass(_DESCRIBED.methods_by_name[name].output_type)

        async def serve(raw: bytes, call: Call) -> bytes:
            async def work() -> bytes:
                caller, asked = await self._read(call, operation, raw)
                found = await operation.act(self._operations, caller, asked)
                if caller.headers:
                    await call.send_initial_metadata(_metadata(caller))
                return ParseDict(found, answer(), max_recursion_depth=_NESTING_MAX).SerializeToString()

            return await self._answered(call, name, work)

        return grpc.unary_unary_rpc_method_handler(serve)

    def _stream(self, name: str, operation: Operation) -> Method:
        async def serve(raw: bytes, call: Call) -> None:
            async def work() -> None:
                caller, asked = await self._read(call, operation, raw)
                after = last_seen(asker_of_call(call).headers)
                frames = await operation.act(self._operations, caller, asked, after)
                # Not together with the first update: one that is never taken would leave no way to end the call.
                await call.send_initial_metadata(_metadata(caller))
                await self._send_until_the_end(call, frames)

            await self._answered(call, name, work)

        return grpc.unary_stream_rpc_method_handler(serve)

    async def _answered(self, call: Call, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """The answer that `work` gives; the error it met ends the call."""
        request_id, route = self._ids.new("req"), f"/{_DESCRIBED.full_name}/{name}"
        known = ("x-request-id", request_id)
        call.set_trailing_metadata((known,))
        try:
            found = await work()
        except A2aError as met:
            error = met
        except Refusal as refusal:
            error = from_refusal(refusal)
        except Exception:  # boundary: one broken call must not end without an answer
            _log.exception("request_failed", extra={"request_id": request_id, "route": route})
            error = from_refusal(broken())
        else:
            METRICS.count("http.requests.count", route=route, status="OK")
            return found
        METRICS.count("http.requests.count", route=route, status=error.fault.grpc)
        told = ("grpc-status-details-bin", status_of(error).SerializeToString())
        return await call.abort(grpc.StatusCode[error.fault.grpc], error.message, (known, told))

    async def _read(self, call: Call, operation: Operation, raw: bytes) -> tuple[Caller, Any]:
        """Who calls, and what is asked; the tenant that the request names is the agent."""
        asker = asker_of_call(call)
        access = require_caller(await identify_program(asker, self._house, self._wrong))
        if read_version(asker.headers.get("a2a-version", "")) == "0.3":
            raise unsupported_version("A2A 0.3 is not spoken over gRPC")
        asked: Any = read_bytes(operation.request, raw)
        agent = await self._house.db.read(lambda tx: agent_in_reach(tx, access, asked.tenant or None))
        extensions = known_extensions(asker.headers, self._house)
        caller = Caller(access=access, agent=agent, base_url=self._base_url, extensions=extensions)
        require_extensions(caller, self._house)
        check_request(asked)
        return caller, asked

    async def _send_until_the_end(self, call: Call, frames: Frames) -> None:
        """Send updates until they end or the server does."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send_all(call, frames))
            ends = {sending, group.create_task(self._house.closing.wait())}
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends - done:
                end.cancel()
        if sending.cancelled():
            raise Refusal(Code.DRAINING, "The server is stopping; subscribe to the task again.", retry_after_seconds=5)
        error = sending.result()
        if error is not None:
            raise error

    async def _send_all(self, call: Call, frames: Frames) -> A2aError | None:
        """Send updates until none can follow; what ended them where it was not their end."""
        try:
            async with contextlib.aclosing(frames):
                await self._send(call, frames)
        except A2aError as error:
            return error
        except Refusal as refusal:
            return from_refusal(refusal)
        return None

    async def _send(self, call: Call, frames: Frames) -> None:
        seen = elapsed_seconds()
        async for update in frames:
            if update is not None:
                await _write(call, update[1])
            if elapsed_seconds() - seen >= STREAM_PING_SECONDS:
                seen = elapsed_seconds()
                require_caller(await identify_program(asker_of_call(call), self._house, self._wrong))


def _metadata(caller: Caller) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in caller.headers.items())


async def _write(call: Call, update: Json) -> None:
    try:
        async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
            await call.write(ParseDict(update, StreamResponse(), max_recursion_depth=_NESTING_MAX).SerializeToString())
    except TimeoutError:
        raise A2aError(UNAVAILABLE, "The stream was not read for too long; subscribe to the task again.") from None


def asker_of_call(call: Call) -> Asker:
    """Who calls: metadata are its headers; values in bytes are none of ours."""
    told = [(name, value) for name, value in call.invocation_metadata() or () if isinstance(value, str)]
    raw = [(name.lower().encode(), value.encode(_CHARACTERS, "replace")) for name, value in told]
    return Asker(headers=Headers(raw=raw), address=address_of_peer(call.peer()))


def address_of_peer(peer: str) -> str | None:
    """The address in what gRPC calls a peer, such as `ipv4:192.0.2.1:5000` or `ipv6:%5B::1%5D:5000`."""
    kind, _, place = peer.partition(":")
    return unquote(place).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None


def status_of(error: A2aError) -> Status:
    """The error as google.rpc has it: its code, its words and its details."""
    number, _ = grpc.StatusCode[error.fault.grpc].value
    status = ParseDict({"code": number, "message": error.message, "details": error.details()}, Status())
    if error.retry_after_seconds is not None:
        status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=error.retry_after_seconds)))
    return status
