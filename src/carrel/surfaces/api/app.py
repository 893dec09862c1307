"""The ASGI application: every endpoint, error bodies for everything else, and an id for each request."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from logging import getLogger

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from carrel.kernel import Clock, Ids, Refusal, SystemClock, system_chance
from carrel.kernel.limits import REQUEST_ID_CHARS_MAX, REQUESTS_BYTES_MAX, RESPONSES_BYTES_MAX
from carrel.surfaces.api.endpoints import ENDPOINTS
from carrel.surfaces.api.health import Readiness
from carrel.surfaces.api.metrics import Recorder
from carrel.surfaces.api.openapi import openapi_document
from carrel.surfaces.api.route_index import RouteIndex
from carrel.surfaces.api.server import Server, http_error
from carrel.surfaces.api.websocket import CHAT_SOCKET
from carrel.surfaces.http.byte_budgets import ByteBudget
from carrel.surfaces.http.errors import broken, refusal_response
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.openapi import Operation
from carrel.surfaces.http.response_limits import ResponseLimits
from carrel.surfaces.http.services import Services

_log = getLogger("carrel.api")
# Headers of every response; an endpoint cannot change them.
_ALWAYS = (b"x-request-id", b"x-content-type-options")
_REQUEST_ID = re.compile(rf"[A-Za-z0-9_.:-]{{1,{REQUEST_ID_CHARS_MAX}}}")


def build_app(
    services: Services,
    *,
    recorder: Recorder | None = None,
    wrong: WrongTokens | None = None,
    more_routes: Iterable[BaseRoute] = (),
    more_operations: Iterable[Operation] = (),
    refusal_formats: Mapping[str, Callable[[Refusal], Response]] | None = None,
    missing_page: Callable[[Request], Response | None] = lambda _: None,
    clock: Clock | None = None,
) -> Starlette:
    """Build the application of one server; `recorder` is already running.

    `more_routes` belong to other surfaces, and `more_operations` describe them in the OpenAPI document;
    `refusal_formats` are those of surfaces with a format of their own, by the first part of their paths. `missing_page`
    answers a browser at an address that no route has.

    `wrong` counts wrong tokens for all surfaces together, so that guessing on another one does not evade the limit.
    """
    clock = clock or SystemClock()
    wrong = wrong or WrongTokens(clock)
    responses = ByteBudget(RESPONSES_BYTES_MAX, "responses")
    app = Starlette(
        routes=[RouteIndex([*Server(services, wrong).routes(ENDPOINTS), CHAT_SOCKET, *more_routes])],
        middleware=[
            Middleware(RequestIds, ids=Ids(clock, system_chance())),
            Middleware(ResponseLimits, budget=responses),
        ],
        exception_handlers={HTTPException: http_error, Refusal: refused, Exception: unexpected},
    )
    # A redirect would send the body to another path than the client named; a wrong path gets 404 instead.
    app.router.redirect_slashes = False
    app.state.services = services
    app.state.wrong_tokens = wrong
    app.state.openapi = cache(lambda: msgspec.json.encode(openapi_document(more_operations)))
    app.state.refusal_formats = refusal_formats or {}
    app.state.missing_page = missing_page
    app.state.request_budget = ByteBudget(REQUESTS_BYTES_MAX, "requests")
    app.state.response_budget = responses
    app.state.readiness = Readiness(services, clock)
    app.state.recorder = recorder or Recorder(services.db, clock)
    return app


class RequestIds:
    """Gives every request an id, the client's own if it is well formed, and its response the same one.

    It also forbids browsers to take a response for another type than its own.
    """

    def __init__(self, app: ASGIApp, ids: Ids) -> None:
        self._app = app
        self._ids = ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
        request_id = given if _REQUEST_ID.fullmatch(given) else self._ids.new("req")
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [header for header in message["headers"] if header[0] not in _ALWAYS]
                headers.append((b"x-request-id", request_id.encode()))
                headers.append((b"x-content-type-options", b"nosniff"))
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, send_named)


async def refused(request: Request, error: Exception) -> Response:
    """Answer a refusal that no endpoint caught."""
    assert isinstance(error, Refusal)
    return refusal_response(error, request.state.request_id)


async def unexpected(request: Request, error: Exception) -> Response:
    """Log an error that nothing caught, and answer with the request id to find it by."""
    request_id = getattr(request.state, "request_id", "req_unknown")
    _log.error("request_failed", exc_info=error, extra={"request_id": request_id, "route": request.url.path})
    response = refusal_response(broken(), request_id)
    # This response is created outside the middleware that sets the headers on all others.
    response.headers["X-Request-Id"] = request_id
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
