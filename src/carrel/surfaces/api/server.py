"""Serves endpoints: identity, strict decoding, idempotency and error bodies."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from carrel.kernel import Access, Code, Refusal, invalid, read_moment, wrong_value
from carrel.kernel.limits import ATTACHMENT_BYTES_MAX, BODY_BYTES_MAX, OPEN_BODY_BYTES_MAX, PART_HEADER_BYTES_MAX
from carrel.surfaces.api.endpoint import Call, Endpoint, Named, Reply
from carrel.surfaces.http.bodies import decode_body, read_body
from carrel.surfaces.http.errors import nothing_here, refused_in_format
from carrel.surfaces.http.idempotency import IdempotentAnswers, Keep, read_key
from carrel.surfaces.http.identity import WrongTokens, identify, is_local_call, refuse_token_in_query, require_known
from carrel.surfaces.http.multipart import MULTIPART, read_file
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.services import Services
from carrel.tools import account_wide, note_refused_read, with_view

_NOBODY = Access(account_id="", account_slug="", kind="client", actor_id="")


class _Answering(Struct, frozen=True):
    """A function that always answers, as ASGI: Starlette would wrap it once more to catch what it lets through."""

    serve: Callable[[Request], Awaitable[Response]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.serve(Request(scope, receive, send))
        await response(scope, receive, send)


class Server:
    """Turns endpoints into routes."""

    def __init__(self, services: Services, wrong: WrongTokens) -> None:
        self._services = services
        self._wrong = wrong
        self._answers = IdempotentAnswers(services.db)

    def routes(self, endpoints: Iterable[Endpoint]) -> list[Route]:
        """Return one route per path; literal paths come before those with parameters."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        paths = sorted(by_path, key=lambda path: [("{" in part, part) for part in path.split("/")])
        return [self._route(path, by_path[path]) for path in paths]

    def _route(self, path: str, by_method: dict[str, Endpoint]) -> Route:
        async def serve(request: Request) -> Response:
            endpoint = by_method["GET" if request.method == "HEAD" else request.method]
            return await answer_request(request, path, lambda: self._serve(endpoint, request))

        return Route(path, _Answering(serve), methods=list(by_method), name=path)

    async def _serve(self, endpoint: Endpoint, request: Request) -> Response:
        refuse_token_in_query(request)
        try:
            return await self._answer(endpoint, request)
        except Refusal as refusal:
            access: Access | None = getattr(request.state, "access", None)
            if access is not None and access.agent_id is not None and endpoint.tool and endpoint.method == "GET":
                await self._note_refused(endpoint, request, access, refusal)
            raise

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        access = await self._access(endpoint, request)
        raw, body = await self._body(endpoint, request)
        query = decode_query(request, endpoint.query)
        call: Call[Any, Any] = Call(request, self._services, access, body, query)
        key = read_key(request.headers) if endpoint.creates else None
        if key is not None:
            return await self._once(endpoint, call, key, raw)
        return await self._handle(endpoint, call)

    async def _handle(self, endpoint: Endpoint, call: Call[Any, Any]) -> Response:
        if endpoint.new_work:
            self._services.refuse_when_draining()
        return respond(endpoint, await endpoint.handler(call))

    async def _note_refused(self, endpoint: Endpoint, request: Request, access: Access, refused: Refusal) -> None:
        """Count a read that was refused to an agent; what an owner would have found was hidden from it."""
        is_hidden = False
        if refused.code is Code.NOT_FOUND:
            call: Call[Any, Any] = Call(
                request, self._services, account_wide(access), None, decode_query(request, endpoint.query)
            )
            with suppress(Refusal):
                await endpoint.handler(call)
                is_hidden = True
        await self._services.db.write(
            lambda tx: note_refused_read(tx, access, endpoint.tool, refused, is_hidden=is_hidden)
        )

    async def _body(self, endpoint: Endpoint, request: Request) -> tuple[bytes, Any]:
        """Return the body twice: as compared under an idempotency key, and decoded."""
        if endpoint.file:
            raw = await read_body(request, (MULTIPART,), bytes_max=ATTACHMENT_BYTES_MAX + 2 * PART_HEADER_BYTES_MAX)
            file = read_file(request.headers.get("content-type", ""), raw, endpoint.file)
            # A repeated request may have another boundary.
            return msgspec.json.encode((file.name, file.mime_type)) + file.content, file
        if endpoint.body is None:
            return b"", None
        raw = await read_body(request, bytes_max=BODY_BYTES_MAX if endpoint.who else OPEN_BODY_BYTES_MAX)
        return raw, decode_body(raw, endpoint.body)

    async def _access(self, endpoint: Endpoint, request: Request) -> Access:
        """Return the caller. Open endpoints identify nobody: they must answer even without the database."""
        if not endpoint.who or (endpoint.open_on_loopback and is_local_call(request)):
            return _NOBODY
        access = require_known(await identify(request, self._services, self._wrong))
        access.require(*endpoint.who, tool=endpoint.tool)
        if endpoint.by_operator and not access.is_operator:
            raise Refusal(Code.FORBIDDEN, "Only the owner of the account 'default' may do this.")
        if access.agent_id is None:
            return access
        tool_services, writes = self._services.tool_services, endpoint.method != "GET"
        return await self._services.db.read(
            lambda tx: with_view(tx, tool_services, access, tool=endpoint.tool, writes=writes)
        )

    async def _once(self, endpoint: Endpoint, call: Call[Any, Any], key: str, raw: bytes) -> Response:
        async def work(keep: Keep) -> Response:
            call.keep = lambda tx, answer: keep(tx, respond(endpoint, answer))
            return await self._handle(endpoint, call)

        request = f"{endpoint.method} {call.request.url.path}\n".encode() + raw
        return await self._answers.once(call.access, key, request, work, secret=endpoint.secret)


def respond(endpoint: Endpoint, result: object) -> Response:
    """Turn a handler's result into a response; a Response is returned as it is."""
    if isinstance(result, Response):
        return result
    reply = result if isinstance(result, Reply) else Reply(next(iter(endpoint.answers)), result)
    if reply.value is None:
        return Response(status_code=reply.status, headers=reply.headers)
    kind = endpoint.answers.get(reply.status)
    body = kind.body(reply.value) if isinstance(kind, Named) else reply.value
    return Response(msgspec.json.encode(body), reply.status, reply.headers, "application/json")


def decode_query(request: Request, kind: type) -> Any:
    """Decode the query parameters as their type; each may be sent once."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items() if request.scope["query_string"] else ():
        if name in given:
            raise invalid(name, f"The parameter {name} was sent twice; send it once.")
        given[name] = value
    try:
        query: Any = msgspec.convert(given, kind, strict=False, dec_hook=read_moment)
    except msgspec.ValidationError as error:
        raise wrong_value(error, kind) from error
    # Lenient decoding takes the word null for None; such a parameter must be left out instead.
    empty = next((name for name in given if getattr(query, _attribute(kind, name)) is None), None)
    if empty is not None:
        raise invalid(empty, f"The parameter {empty} is null; leave it out instead.")
    return query


@cache
def _attribute(kind: type, name: str) -> str:
    return next(field.name for field in msgspec.structs.fields(kind) if field.encode_name == name)


async def http_error(request: Request, error: Exception) -> Response:
    """Answer Starlette's own errors (no such path, wrong method) in the format of the surface that has the path."""
    assert isinstance(error, HTTPException)
    wrong_method = error.status_code == 405
    page = None if wrong_method else request.app.state.missing_page(request)
    if page is not None:
        return page  # type: ignore[no-any-return]
    message = "This path does not support that method."
    refusal = Refusal(Code.METHOD_NOT_ALLOWED, message) if wrong_method else nothing_here()
    response = refused_in_format(request.scope, refusal)
    if wrong_method:
        response.headers["Allow"] = (error.headers or {}).get("Allow", "")
    return response
