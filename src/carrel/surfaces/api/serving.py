"""Serving endpoints: limits, identity, strict reading, idempotency, and the error body for all of it."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from logging import getLogger
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from carrel.access import answer_given, keep_answer
from carrel.kernel import METRICS, MS_PER_MINUTE, Access, Code, Refusal, invalid, redact
from carrel.kernel.limits import (
    BODY_BYTES_MAX,
    IDEMPOTENCY_KEPT_HOURS,
    IDEMPOTENCY_KEY_CHARS_MAX,
    IDEMPOTENT_SECRETS_MAX,
)
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Ask, Endpoint, Reply
from carrel.surfaces.api.errors import refusal_response
from carrel.surfaces.house import House
from carrel.surfaces.identity import WrongTokens, identify, is_loopback, refuse_token_in_query

_log = getLogger("carrel.api")
_KEPT_MS = IDEMPOTENCY_KEPT_HOURS * 60 * MS_PER_MINUTE
_NOBODY = Access(account_id="", account_slug="", kind="client", actor_id="")

# An even number of backslashes before it is text about backslashes, not the beginning of an escape.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_ITEM = re.compile(r"\[(\d+)\]")
# (account, actor, idempotency key)
Repeated = tuple[str, str, str]


class _AnsweredElsewhere(Exception):
    """Under the same idempotency key somebody else was quicker."""


class Server:
    """Makes routes of endpoints."""

    def __init__(self, house: House, wrong: WrongTokens) -> None:
        self._house = house
        self._wrong = wrong
        self._repeats: WeakValueDictionary[Repeated, asyncio.Lock] = WeakValueDictionary()
        self._secrets: OrderedDict[Repeated, bytes] = OrderedDict()

    def routes(self, endpoints: Iterable[Endpoint]) -> list[Route]:
        """One route a path, literal paths before those with parameters, whatever order they were written in."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        paths = sorted(by_path, key=lambda path: [("{" in part, part) for part in path.split("/")])
        return [self._route(path, by_path[path]) for path in paths]

    def _route(self, path: str, by_method: dict[str, Endpoint]) -> Route:
        async def serve(request: Request) -> Response:
            endpoint = by_method["GET" if request.method == "HEAD" else request.method]
            response = await self._answer(endpoint, request)
            METRICS.count("http.requests.count", route=path, status=str(response.status_code))
            return response

        return Route(path, serve, methods=list(by_method), name=path)

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        try:
            return await self._serve(endpoint, request)
        except Refusal as refusal:
            return refusal_response(refusal, request.state.request_id)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception:  # boundary: one broken request must not end the connection without an answer
            _log.exception("request_failed", extra={"request_id": request.state.request_id, "route": endpoint.path})
            broken = Refusal(
                Code.INTERNAL, "Something went wrong here; the server's log knows more under this request id."
            )
            return refusal_response(broken, request.state.request_id)

    async def _serve(self, endpoint: Endpoint, request: Request) -> Response:
        if b"%00" in request.scope["raw_path"] + request.scope["query_string"]:
            raise Refusal(Code.INVALID_PARAMS, "The address holds a NUL character, which no text here may contain.")
        refuse_token_in_query(request)
        access = await self._access(endpoint, request)
        raw = await read_body(request) if endpoint.body is not None else b""
        body = decode_body(raw, endpoint.body) if endpoint.body is not None else None
        query = decode_query(request, endpoint.query)
        ask: Ask[Any, Any] = Ask(request, self._house, access, body, query)
        key = request.headers.get("x-idempotency-key")
        if endpoint.creates and key is not None:
            return await self._once(endpoint, ask, key, raw)
        return respond(endpoint, await endpoint.handler(ask))

    async def _access(self, endpoint: Endpoint, request: Request) -> Access:
        """Who asks. What is open asks nobody: it must answer even when the store does not."""
        if not endpoint.who or (endpoint.open_on_loopback and is_loopback(request)):
            return _NOBODY
        access = await identify(request, self._house, self._wrong)
        if access is None:
            raise Refusal(Code.UNAUTHENTICATED, "Send a token: Authorization: Bearer <token>.")
        access.require(*endpoint.who)
        return access

    async def _once(self, endpoint: Endpoint, ask: Ask[Any, Any], key: str, raw: bytes) -> Response:
        """The first answer under an idempotency key, whoever repeats it."""
        if not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX:
            raise invalid("X-Idempotency-Key", f"An idempotency key has 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters.")
        digest = sha256(f"{endpoint.method} {ask.request.url.path}\n".encode() + raw).hexdigest()
        owner = (ask.access.account_id, ask.access.actor_id, key)
        lock = self._repeats.setdefault(owner, asyncio.Lock())
        async with lock:
            return await self._given(ask, owner, digest) or await self._give(endpoint, ask, owner, digest)

    async def _given(self, ask: Ask[Any, Any], owner: Repeated, digest: str) -> Response | None:
        """What was answered under the key before."""
        kept = await ask.read(lambda tx, access: answer_given(tx, access, owner[2], tx.now - _KEPT_MS))
        if kept is None:
            return None
        if kept[0] != digest:
            raise Refusal(Code.IDEMPOTENCY_MISMATCH, "This idempotency key was used for a different request.")
        return Response(self._secrets.get(owner, kept[2]), kept[1], {"Idempotent-Replay": "true"}, "application/json")

    async def _give(self, endpoint: Endpoint, ask: Ask[Any, Any], owner: Repeated, digest: str) -> Response:
        """Do what is asked and keep the answer: with what was done where it is promised there, else right after."""
        promised: list[bytes] = []

        def keep(tx: Tx, answer: object) -> None:
            first = respond(endpoint, answer)
            promised[:] = [bytes(first.body)]
            text, before = promised[0].decode(), tx.now - _KEPT_MS
            if not keep_answer(tx, ask.access, owner[2], digest, first.status_code, text, replaces_before=before):
                raise _AnsweredElsewhere

        ask.keep = keep
        try:
            response = respond(endpoint, await endpoint.handler(ask))
        except _AnsweredElsewhere:
            # What was done here is undone; another server was asked the same at the same time.
            given = await self._given(ask, owner, digest)
            assert given is not None, "it was there a moment ago"
            return given
        if promised == [response.body]:
            return response
        text = bytes(response.body).decode()
        if endpoint.secret:
            text = self._without_secret(owner, text)
        await ask.write(
            lambda tx, access: keep_answer(
                tx, access, owner[2], digest, response.status_code, text, replaces_before=tx.now + 1
            )
        )
        return response

    def _without_secret(self, owner: Repeated, text: str) -> str:
        """What may be stored of an answer; the whole one is remembered here, for a sender who did not get it."""
        self._secrets[owner] = text.encode()
        if len(self._secrets) > IDEMPOTENT_SECRETS_MAX:
            self._secrets.popitem(last=False)
        return redact(text)


def respond(endpoint: Endpoint, result: object) -> Response:
    """A handler's result as a response; a Response passes as it is."""
    if isinstance(result, Response):
        return result
    reply = result if isinstance(result, Reply) else Reply(next(iter(endpoint.answers)), result)
    if reply.value is None:
        return Response(status_code=reply.status, headers=reply.headers)
    return Response(msgspec.json.encode(reply.value), reply.status, reply.headers, "application/json")


async def read_body(request: Request) -> bytes:
    """The body, refused as soon as it is known to be too large."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise _too_large()
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> Refusal:
    return Refusal(Code.TOO_LARGE, f"A body has at most {BODY_BYTES_MAX} bytes.")


def decode_body(raw: bytes, kind: type) -> Any:
    """The body as its type; an empty one counts as {}."""
    # The search for the six characters alone is the fast one; whether they stand for a NUL takes a closer look.
    if rb"\u0000" in raw and _NUL.search(raw):
        raise Refusal(Code.INVALID_PARAMS, "The body holds a NUL character, which no text here may contain.")
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise _wrong(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(Code.INVALID_JSON, f"The body is no valid JSON: {error}.") from error


def decode_query(request: Request, kind: type) -> Any:
    """The query parameters as their type; each may stand once."""
    items = request.query_params.multi_items()
    names = [name for name, _ in items]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise invalid(repeated, f"The parameter {repeated} stands twice.")
    try:
        query: Any = msgspec.convert(dict(items), kind, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(error) from error
    # Lenient reading takes the word null for nothing; a parameter that is nothing is left out instead.
    empty = next((name for name in names if getattr(query, _attribute(kind, name)) is None), None)
    if empty is not None:
        raise invalid(empty, f"The parameter {empty} is null; leave it out instead.")
    return query


def _attribute(kind: type, name: str) -> str:
    return next(field.name for field in msgspec.structs.fields(kind) if field.encode_name == name)


def _wrong(error: msgspec.ValidationError) -> Refusal:
    """The validation error as a refusal that names the field by its dotted path."""
    message, _, path = str(error).partition(" - at `")
    at = _ITEM.sub(r".\1", path.rstrip("`").removeprefix("$").replace("[...]", "")).removeprefix(".")
    quoted = message.split("`")
    if "unknown field" in message or "missing required field" in message:
        at = f"{at}.{quoted[1]}" if at else quoted[1]
    return Refusal(Code.INVALID_PARAMS, f"{message}.", field=at or None)


async def http_error(request: Request, error: Exception) -> Response:
    """Starlette's own refusals (no such path, wrong method) in our words."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        response = refusal_response(
            Refusal(Code.METHOD_NOT_ALLOWED, "This path does not take that method."), request.state.request_id
        )
        response.headers["Allow"] = (error.headers or {}).get("Allow", "")
        return response
    return refusal_response(Refusal(Code.NOT_FOUND, "There is nothing at this address."), request.state.request_id)
