"""The HTTP status of every error code, and the error body."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response
from starlette.types import Scope

from carrel.kernel import Code, Refusal

_CODES: dict[int, tuple[Code, ...]] = {
    400: (
        Code.INVALID_PARAMS, Code.INVALID_JSON, Code.TOKEN_IN_QUERY, Code.SESSION_REQUIRED,
        Code.INVALID_CONVERSATION_KEY, Code.RESERVED_SESSION_KEY,
    ),
    401: (Code.UNAUTHENTICATED, Code.UNKNOWN_SESSION),
    403: (Code.FORBIDDEN, Code.SESSION_CLOSED, Code.SEND_DENIED, Code.TOOL_NOT_ALLOWED),
    404: (Code.NOT_FOUND,),
    405: (Code.METHOD_NOT_ALLOWED,),
    409: (Code.CONFLICT, Code.AMBIGUOUS_SESSION, Code.IDEMPOTENCY_MISMATCH, Code.ALREADY_ENDED),
    413: (Code.TOO_LARGE,),
    415: (Code.UNSUPPORTED_MEDIA_TYPE,),
    422: (
        Code.TOO_LONG, Code.ILLEGAL_TRANSITION, Code.ASSIGNEE_REQUIRED, Code.BLOCKED_REASON_REQUIRED,
        Code.LIMIT_REACHED, Code.INVALID_SCOPE, Code.PROMOTION_REQUIRED,
    ),
    429: (Code.QUEUE_FULL, Code.SEARCH_BUSY, Code.RATE_LIMITED),
    500: (Code.INTERNAL,),
    503: (Code.BUSY, Code.DRAINING, Code.STORAGE_UNAVAILABLE),
}  # fmt: skip
STATUS: dict[Code, int] = {code: status for status, codes in _CODES.items() for code in codes}


class ErrorDetail(Struct, frozen=True, kw_only=True):
    """What went wrong, in words that say what to do."""

    code: Code
    message: str
    field: str | UnsetType = UNSET
    details: dict[str, Any] | UnsetType = UNSET


class ErrorBody(Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of every error."""

    error: ErrorDetail
    request_id: str


def error_body(refusal: Refusal, request_id: str) -> ErrorBody:
    """Return the error body for a refusal."""
    detail = ErrorDetail(
        code=refusal.code,
        message=refusal.message,
        field=UNSET if refusal.field is None else refusal.field,
        details=UNSET if refusal.details is None else refusal.details,
    )
    return ErrorBody(error=detail, request_id=request_id)


def nothing_here() -> Refusal:
    """Return the refusal for a path that does not exist."""
    return Refusal(Code.NOT_FOUND, "There is nothing at this path.")


def broken() -> Refusal:
    """Return the refusal for an unexpected error, which is logged."""
    return Refusal(Code.INTERNAL, "Something went wrong on the server; look for this request id in its log.")


@contextmanager
def field_named(name: str, *, below: str) -> Iterator[None]:
    """Let refusals name a field as the request does, which the rooms below call otherwise."""
    try:
        yield
    except Refusal as refusal:
        if refusal.field == below:
            refusal.field = name
        raise


def refused_in_format(scope: Scope, refusal: Refusal) -> Response:
    """Return the response to a refused request in the format of the surface that has its path."""
    respond = scope["app"].state.refusal_formats.get(scope["path"][1:].partition("/")[0])
    response: Response = respond(refusal) if respond else refusal_response(refusal, scope["state"]["request_id"])
    return response


def refusal_response(refusal: Refusal, request_id: str) -> Response:
    """Return the response to a request that was refused."""
    headers = {}
    if refusal.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    body = msgspec.json.encode(error_body(refusal, request_id))
    return Response(body, STATUS[refusal.code], headers, "application/json")
