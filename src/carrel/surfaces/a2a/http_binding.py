"""What JSON-RPC and HTTP+JSON share: reading the body, error responses and server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.errors import INVALID_JSON, A2aError, from_refusal, invalid_params
from carrel.surfaces.a2a.operations import Operation, Operations
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.task_stream import UpdateStream
from carrel.surfaces.http import responder
from carrel.surfaces.http.bodies import read_body
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.revocation import streamed
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.streaming import PING, seen_event

BODY_TYPES = ("application/json", "application/a2a+json")


class Binding:
    """What a binding serves requests with: the server, its count of wrong tokens, and the operations."""

    def __init__(self, services: Services, wrong_tokens: WrongTokens, operations: Operations) -> None:
        self._services = services
        self._wrong_tokens = wrong_tokens
        self._operations = operations

    async def perform(
        self, request: Request, caller: Caller, operation: Operation, parsed: object,
        write: Callable[[Json], object], to_response: Callable[[object], Response],
    ) -> Response:  # fmt: skip
        """Perform an operation: return its result, or its updates as server-sent events, in the form of `write`."""
        if not operation.streams:
            return to_response(write(await operation.perform(caller, parsed)))
        updates = await operation.perform(caller, parsed, last_event_id(request.headers))
        return streamed(request, self._services, self._wrong_tokens, _frames(updates, write), caller.headers)


async def respond(
    request: Request, route: str, work: Callable[[], Awaitable[Response]], on_error: Callable[[A2aError], Response]
) -> Response:

    async def guarded() -> Response:
        try:
            return await work()
        except A2aError as error:
            return on_error(error)

    return await responder.answer_request(request, route, guarded, lambda refusal: on_error(from_refusal(refusal)))


async def read_json(request: Request) -> object:
    """Return the body parsed as JSON; None for an empty one."""
    raw = await read_body(request, BODY_TYPES)
    if not raw.strip():
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise A2aError(INVALID_JSON, f"The body is not valid JSON: {error}.") from error


def last_event_id(headers: Headers) -> int | None:
    """Return the number of the last change that the client has seen, from the header Last-Event-ID."""
    text = headers.get("last-event-id", "")
    if not text:
        return None
    seen = seen_event(text)
    if seen is None:
        raise invalid_params("Last-Event-ID", "Last-Event-ID must be the id of an event of this task.")
    return seen


async def _frames(updates: UpdateStream, write: Callable[[Json], object]) -> AsyncIterator[bytes]:
    """Yield updates as events whose ids are the change numbers."""
    async for update in updates:
        if update is None:
            yield PING
        else:
            yield b"id: %d\ndata: %s\n\n" % (update[0], msgspec.json.encode(write(update[1])))
            # Stored updates come without waiting, so let other requests run between two of them.
            await asyncio.sleep(0)
