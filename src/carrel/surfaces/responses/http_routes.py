"""The routes of Open Responses, over HTTP and as a WebSocket, and the route of Chat Completions.

The WebSocket takes one request at a time, each answered by its events. A response that is not stored can be continued
only on the connection that created it. A failed attempt to continue it ends that as well, because the client's view of
the conversation would then be wrong.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from carrel.kernel import Access, Code, Refusal, invalid, wrong_value
from carrel.surfaces.http import websockets
from carrel.surfaces.http.bodies import decode_body, read_body, refuse_too_many_values
from carrel.surfaces.http.idempotency import read_key
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query, require_caller
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.revocation import streamed, until_revoked
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.streaming import PING
from carrel.surfaces.responses.completions import CreateCompletion, chunks_of, completion_of, start_completion
from carrel.surfaces.responses.errors import ResponsesError, from_refusal, wrong
from carrel.surfaces.responses.input_items import compacted
from carrel.surfaces.responses.operations import Responses
from carrel.surfaces.responses.requests import Compact, CreateResponse, Json, SocketCreate
from carrel.surfaces.responses.resource import Page
from carrel.surfaces.responses.stream import Events
from carrel.surfaces.responses.targets import find_model, list_models, read_hints

_ROOT = "/v1/responses"
_MODELS = "/v1/models"
_COMPLETIONS = "/v1/chat/completions"
Handler = Callable[[Request, Access], Awaitable[Response | Json]]
# Options of the HTTP transport.
_NOT_HERE = ("stream", "stream_options", "background")


def routes(services: Services, wrong: WrongTokens) -> list[BaseRoute]:
    """Return the routes of Open Responses."""
    return _Surface(services, wrong).routes()


class _Surface:
    """Answers the requests and sockets of one server."""

    def __init__(self, services: Services, wrong: WrongTokens) -> None:
        self._services = services
        self._wrong = wrong
        self._responses = Responses(services)

    def routes(self) -> list[BaseRoute]:
        """Return the routes, literal paths before those with an id."""
        responses, read, one = self._responses, self._services.db.read, f"{_ROOT}/{{id}}"

        def for_one(work: Callable[[Access, str], Awaitable[Json]]) -> Handler:
            return lambda request, access: work(access, request.path_params["id"])

        def listed(request: Request, access: Access) -> Awaitable[Json]:
            return responses.input_items(access, request.path_params["id"], _page(request))

        def model(request: Request, access: Access) -> Awaitable[Json]:
            return read(lambda tx: find_model(tx, access, request.path_params["name"]))

        return [
            WebSocketRoute(_ROOT, self._serve_socket),
            self._route("POST", _ROOT, self._create),
            self._route("POST", f"{_ROOT}/compact", self._compact),
            self._route("POST", _COMPLETIONS, self._complete),
            self._route("POST", f"{one}/cancel", for_one(responses.cancel)),
            self._route("GET", f"{one}/input_items", listed),
            self._route("GET", one, for_one(responses.read)),
            self._route("DELETE", one, for_one(responses.delete)),
            self._route("GET", _MODELS, lambda _, access: read(lambda tx: list_models(tx, access))),
            # The name of a model has a slash.
            self._route("GET", f"{_MODELS}/{{name:path}}", model),
        ]

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        async def serve(request: Request) -> Response:
            return await answer_request(request, path, lambda: self._serve(request, handler), refusal_response)

        return Route(path, serve, methods=[method], name=f"{method} {path}")

    async def _serve(self, request: Request, handler: Handler) -> Response:
        try:
            found = await handler(request, await self._identify(request))
        except ResponsesError as error:
            return error.response()
        return found if isinstance(found, Response) else _answer(found)

    async def _create(self, request: Request, access: Access) -> Response:
        raw = await read_body(request)
        body: CreateResponse = decode_body(raw, CreateResponse)
        started = await self._responses.start(access, request.headers, body, raw, set(), read_key(request.headers))
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if body.stream:
            return self._stream(request, started.events(), headers)
        show = self._responses.shown if body.background else self._responses.finished
        return _answer(await show(access, started.response), headers)

    async def _complete(self, request: Request, access: Access) -> Response:
        raw = await read_body(request)
        body: CreateCompletion = decode_body(raw, CreateCompletion)
        key = read_key(request.headers)
        started = await start_completion(self._responses, access, request.headers, body, raw, key)
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if body.stream:
            chunks = chunks_of(started.events(), includes_usage=body.includes_usage)
            return self._stream(request, chunks, headers)
        return _answer(completion_of(await self._responses.finished(access, started.response)), headers)

    def _stream(self, request: Request, events: Events, headers: dict[str, str]) -> Response:
        return streamed(request, self._services, self._wrong, _frames(events), headers)

    async def _compact(self, request: Request, access: Access) -> Json:
        body: Compact = decode_body(await read_body(request), Compact)
        hints = read_hints(request.headers, body.model, None, body.previous_response_id)
        return await self._services.db.read(lambda tx: compacted(tx, access, hints, body))

    async def _serve_socket(self, socket: WebSocket) -> None:
        """Serve one connection from its handshake to its end."""
        try:
            access = await self._identify(socket)
            if read_key(socket.headers) is not None:
                # It belongs to one request, and a connection carries many.
                message = "WebSockets do not support idempotency keys; send the request by POST."
                raise invalid("X-Idempotency-Key", message)
        except Refusal as refusal:
            await socket.send_denial_response(refusal_response(refusal))
            return
        await socket.accept()
        revoked = until_revoked(self._services, access, lambda: self._identify(socket))

        def start(group: asyncio.TaskGroup) -> None:
            group.create_task(self._answer_all(socket))

        await websockets.serve(socket, self._services, revoked, start, name="responses_socket")

    async def _identify(self, connection: HTTPConnection) -> Access:
        refuse_token_in_query(connection)
        return require_caller(await identify(connection, self._services, self._wrong))

    async def _answer_all(self, socket: WebSocket) -> None:
        kept: set[str] = set()
        while True:
            raw = await websockets.next_message(socket)
            try:
                access = await self._identify(socket)
            except Refusal as refusal:
                raise websockets.Closing(
                    websockets.TRY_AGAIN_LATER if refusal.code is Code.STORAGE_UNAVAILABLE else websockets.NOT_ALLOWED
                ) from None
            await self._answer(socket, access, raw, kept)

    async def _answer(self, socket: WebSocket, access: Access, raw: bytes, kept: set[str]) -> None:
        """Answer one request: with its events, or with an error."""
        previous: str | None = None
        try:
            await refuse_too_many_values(raw)
            request = _request(raw)
            previous = request.previous_response_id
            started = await self._responses.start(access, socket.headers, request, raw, kept, None)
            async for event in started.events():
                if event is not None:
                    await websockets.send_value(socket, event)
            if not started.response.stored:
                kept.add(started.response.id)
        except (ResponsesError, Refusal) as refused:
            error = refused if isinstance(refused, ResponsesError) else from_refusal(refused)
            kept.discard(previous or "")
            await websockets.send_value(socket, {"type": "error", "status": error.status, "error": error.body()})


def _page(request: Request) -> Page:
    try:
        return msgspec.convert(dict(request.query_params), Page, strict=False)
    except msgspec.ValidationError as error:
        raise wrong_value(error, Page) from error


def _answer(value: Json, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), 200, headers, "application/json")


def refusal_response(refusal: Refusal) -> Response:
    """Return the response to a request that was refused."""
    return from_refusal(refusal).response()


async def _frames(events: Events) -> AsyncIterator[bytes]:
    """Yield each event as one frame, then the end marker; chunks of a completion have no type."""
    async for event in events:
        if event is None:
            yield PING
            continue
        named = b"event: %s\n" % event["type"].encode() if "type" in event else b""
        yield b"%sdata: %s\n\n" % (named, msgspec.json.encode(event))
        # Others get their turn between events.
        await asyncio.sleep(0)
    yield b"data: [DONE]\n\n"


def _request(raw: bytes) -> SocketCreate:
    request: SocketCreate = decode_body(raw, SocketCreate)
    given = next((name for name in _NOT_HERE if getattr(request, name) is not None), None)
    if given is not None:
        raise wrong(given, f"{given} is not supported on a WebSocket, which always streams.")
    return request
