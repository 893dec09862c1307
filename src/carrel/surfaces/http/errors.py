"""The HTTP status of every error code, and the error body."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from carrel.kernel import Code, Refusal

STATUS: dict[Code, int] = {
    Code.INVALID_PARAMS: 400,
    Code.INVALID_JSON: 400,
    Code.TOKEN_IN_QUERY: 400,
    Code.SESSION_REQUIRED: 400,
    Code.INVALID_CONVERSATION_KEY: 400,
    Code.RESERVED_SESSION_KEY: 400,
    Code.UNAUTHENTICATED: 401,
    Code.UNKNOWN_SESSION: 401,
    Code.FORBIDDEN: 403,
    Code.SESSION_CLOSED: 403,
    Code.SEND_DENIED: 403,
    Code.TOOL_NOT_ALLOWED: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CONFLICT: 409,
    Code.AMBIGUOUS_SESSION: 409,
    Code.IDEMPOTENCY_MISMATCH: 409,
    Code.ALREADY_ENDED: 409,
    Code.TOO_LARGE: 413,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.TOO_LONG: 422,
    Code.ILLEGAL_TRANSITION: 422,
    Code.ASSIGNEE_REQUIRED: 422,
    Code.BLOCKED_REASON_REQUIRED: 422,
    Code.LIMIT_REACHED: 422,
    Code.INVALID_SCOPE: 422,
    Code.PROMOTION_REQUIRED: 422,
    Code.QUEUE_FULL: 429,
    Code.SEARCH_BUSY: 429,
    Code.RATE_LIMITED: 429,
    Code.INTERNAL: 500,
    Code.BUSY: 503,
    Code.DRAINING: 503,
    Code.STORAGE_UNAVAILABLE: 503,
}


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


def refusal_response(refusal: Refusal, request_id: str) -> Response:
    """Return the response to a request that was refused."""
    headers = {}
    if refusal.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    body = msgspec.json.encode(error_body(refusal, request_id))
    return Response(body, STATUS[refusal.code], headers, "application/json")
