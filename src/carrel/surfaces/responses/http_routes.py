"""The routes of Open Responses, over HTTP and as a WebSocket, and the route of Chat Completions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from carrel.kernel import Access, Refusal, wrong_value
from carrel.surfaces.http.bodies import decode_body, read_body
from carrel.surfaces.http.house import House
from carrel.surfaces.http.idempotency import read_key
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query, require_caller
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.rights_end import request_rights_end
from carrel.surfaces.http.streaming import PING, FrameStream
from carrel.surfaces.responses.completions import Completions, CreateCompletion, frames_of
from carrel.surfaces.responses.errors import ResponsesError, from_refusal
from carrel.surfaces.responses.operations import Responses
from carrel.surfaces.responses.requests import Compact, CreateResponse, Json
from carrel.surfaces.responses.stored_input import Page
from carrel.surfaces.responses.stream import Events
from carrel.surfaces.responses.websocket import Socket

_ROOT = "/v1/responses"
_MODELS = "/v1/models"
_COMPLETIONS = "/v1/chat/completions"
Handler = Callable[[Request, Access], Awaitable[Response | Json]]


def routes(house: House, wrong: WrongTokens) -> list[BaseRoute]:
    """Return the routes of Open Responses."""
    return _Http(house, wrong).routes()


class _Http:
    """Answers HTTP requests."""

    def __init__(self, house: House, wrong: WrongTokens) -> None:
        self._house = house
        self._wrong = wrong
        self._responses = Responses(house)
        self._completions = Completions(house, self._responses)

    def routes(self) -> list[BaseRoute]:
        """Return the routes, literal paths before those with an id."""
        responses = self._responses
        one, input_items, model = f"{_ROOT}/{{id}}", f"{_ROOT}/{{id}}/input_items", f"{_MODELS}/{{name:path}}"
        return [
            WebSocketRoute(_ROOT, Socket(self._house, self._wrong, responses).serve),
            self._route("POST", _ROOT, self._create),
            self._route("POST", f"{_ROOT}/compact", self._compact),
            self._route("POST", _COMPLETIONS, self._complete),
            self._route("POST", f"{one}/cancel", lambda request, access: responses.cancel(access, _id(request))),
            self._route(
                "GET", input_items, lambda request, access: responses.input_items(access, _id(request), _page(request))
            ),
            self._route("GET", one, lambda request, access: responses.read(access, _id(request))),
            self._route("DELETE", one, lambda request, access: responses.delete(access, _id(request))),
            self._route("GET", _MODELS, lambda _, access: responses.models(access)),
            # The name of a model has a slash.
            self._route("GET", model, lambda request, access: responses.model(access, request.path_params["name"])),
        ]

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        async def serve(request: Request) -> Response:
            return await answer_request(request, path, lambda: self._serve(request, handler), refusal_response)

        return Route(path, serve, methods=[method], name=f"{method} {path}")

    async def _serve(self, request: Request, handler: Handler) -> Response:
        try:
            refuse_token_in_query(request)
            found = await handler(request, require_caller(await identify(request, self._house, self._wrong)))
        except ResponsesError as error:
            return error.response()
        return found if isinstance(found, Response) else _answer(found)

    async def _create(self, request: Request, access: Access) -> Response:
        raw = await read_body(request)
        body: CreateResponse = decode_body(raw, CreateResponse)
        started = await self._responses.start(access, request.headers, body, raw, set(), read_key(request.headers))
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if body.stream:
            return self._stream(request, _frames(started.events()), headers)
        if body.background:
            return _answer(await self._responses.shown(access, started.response), headers)
        return _answer(await self._responses.finished(access, started.response), headers)

    async def _complete(self, request: Request, access: Access) -> Response:
        raw = await read_body(request)
        body: CreateCompletion = decode_body(raw, CreateCompletion)
        started = await self._completions.start(access, request.headers, body, raw, read_key(request.headers))
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if body.stream:
            return self._stream(request, frames_of(started.events(), includes_usage=body.includes_usage), headers)
        return _answer(await self._completions.finished(access, started), headers)

    def _stream(self, request: Request, frames: AsyncIterator[bytes], headers: dict[str, str]) -> Response:
        return FrameStream(
            frames,
            closing=self._house.closing,
            rights_end=partial(request_rights_end, request, self._house, self._wrong),
            headers=headers,
        )

    async def _compact(self, request: Request, access: Access) -> Json:
        body: Compact = decode_body(await read_body(request), Compact)
        return await self._responses.compact(access, request.headers, body)


def _id(request: Request) -> str:
    response_id: str = request.path_params["id"]
    return response_id


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
    """Yield each event as one frame, then the end marker."""
    async for event in events:
        if event is None:
            yield PING
            continue
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))
        # Others get their turn between events.
        await asyncio.sleep(0)
    yield b"data: [DONE]\n\n"
