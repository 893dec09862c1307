"""A2A's errors: one table of their codes in JSON-RPC, HTTP and gRPC, and the error bodies."""

from typing import Any

from msgspec import Struct

from carrel.kernel import Code, Refusal
from carrel.surfaces.http.errors import STATUS

_A2A = "a2a-protocol.org"
_OWN = "carrel"
_REASON = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"


class ErrorKind(Struct, frozen=True):
    """A kind of error: its reason and its code in each binding."""

    reason: str
    rpc: int
    http: int
    grpc: str
    domain: str = _A2A


TASK_NOT_FOUND = ErrorKind("TASK_NOT_FOUND", -32001, 404, "NOT_FOUND")
TASK_NOT_CANCELABLE = ErrorKind("TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION")
PUSH_NOT_SUPPORTED = ErrorKind("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400, "FAILED_PRECONDITION")
UNSUPPORTED_OPERATION = ErrorKind("UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION")
CONTENT_TYPE_NOT_SUPPORTED = ErrorKind("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT")
NO_EXTENDED_CARD = ErrorKind("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 400, "FAILED_PRECONDITION")
EXTENSION_REQUIRED = ErrorKind("EXTENSION_SUPPORT_REQUIRED", -32008, 400, "FAILED_PRECONDITION")
VERSION_NOT_SUPPORTED = ErrorKind("VERSION_NOT_SUPPORTED", -32009, 400, "FAILED_PRECONDITION")
INVALID_PARAMS = ErrorKind("INVALID_PARAMS", -32602, 400, "INVALID_ARGUMENT", _OWN)
INVALID_JSON = ErrorKind("INVALID_JSON", -32700, 400, "INVALID_ARGUMENT", _OWN)
INVALID_REQUEST = ErrorKind("INVALID_REQUEST", -32600, 400, "INVALID_ARGUMENT", _OWN)
METHOD_NOT_FOUND = ErrorKind("METHOD_NOT_FOUND", -32601, 404, "UNIMPLEMENTED", _OWN)
QUEUE_FULL = ErrorKind("QUEUE_FULL", -32000, 429, "RESOURCE_EXHAUSTED", _OWN)
_UNAUTHENTICATED = ErrorKind("UNAUTHENTICATED", -32000, 401, "UNAUTHENTICATED", _OWN)
_FORBIDDEN = ErrorKind("FORBIDDEN", -32000, 403, "PERMISSION_DENIED", _OWN)
_NOT_FOUND = ErrorKind("NOT_FOUND", -32000, 404, "NOT_FOUND", _OWN)
_CONFLICT = ErrorKind("CONFLICT", -32000, 409, "ABORTED", _OWN)
_TOO_LARGE = ErrorKind("TOO_LARGE", -32602, 413, "INVALID_ARGUMENT", _OWN)
_RATE_LIMITED = ErrorKind("RATE_LIMITED", -32000, 429, "RESOURCE_EXHAUSTED", _OWN)
_INTERNAL = ErrorKind("INTERNAL", -32603, 500, "INTERNAL", _OWN)
UNAVAILABLE = ErrorKind("UNAVAILABLE", -32603, 503, "UNAVAILABLE", _OWN)

# The kind of a refusal: by its code, else by its usual HTTP status.
_BY_CODE = {Code.INVALID_JSON: INVALID_JSON, Code.ALREADY_ENDED: UNSUPPORTED_OPERATION, Code.QUEUE_FULL: QUEUE_FULL}
_BY_STATUS = {400: INVALID_PARAMS, 405: METHOD_NOT_FOUND, 415: CONTENT_TYPE_NOT_SUPPORTED, 422: INVALID_PARAMS} | {
    kind.http: kind
    for kind in (_UNAUTHENTICATED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _TOO_LARGE, _RATE_LIMITED, _INTERNAL, UNAVAILABLE)
}


class A2aError(Exception):
    """A refused request, with A2A's reason and codes."""

    def __init__(
        self, kind: ErrorKind, message: str, *, field: str | None = None, retry_after_seconds: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.retry_after_seconds = retry_after_seconds

    def details(self) -> list[dict[str, Any]]:
        """Return the ErrorInfo and, if a field is wrong, which one."""
        metadata = {} if self.field is None else {"field": self.field}
        details: list[dict[str, Any]] = [
            {"@type": _REASON, "reason": self.kind.reason, "domain": self.kind.domain, "metadata": metadata}
        ]
        if self.field is not None:
            violation = {"field": self.field, "description": self.message}
            details.append({"@type": _BAD_REQUEST, "fieldViolations": [violation]})
        return details

    def rpc_body(self) -> dict[str, Any]:
        """Return the error member of a JSON-RPC response."""
        return {"code": self.kind.rpc, "message": self.message, "data": self.details()}

    def http_body(self) -> dict[str, Any]:
        status = {"code": self.kind.http, "status": self.kind.grpc, "message": self.message}
        return {"error": status | {"details": self.details()}}

    def legacy_http_body(self) -> dict[str, Any]:
        """Return the body for a 0.3 client, which recognizes an error by its class name."""
        name = self.kind.reason.title().replace("_", "") + "Error"
        return {"type": name, "message": self.message} | self.http_body()

    def headers(self) -> dict[str, str]:
        retry = {} if self.retry_after_seconds is None else {"Retry-After": str(self.retry_after_seconds)}
        return retry | ({"WWW-Authenticate": "Bearer"} if self.kind is _UNAUTHENTICATED else {})


def from_refusal(refusal: Refusal) -> A2aError:
    kind, seconds = _BY_CODE.get(refusal.code) or _BY_STATUS[STATUS[refusal.code]], refusal.retry_after_seconds
    return A2aError(kind, refusal.message, field=refusal.field, retry_after_seconds=seconds)


def invalid_params(field: str, message: str) -> A2aError:
    return A2aError(INVALID_PARAMS, message, field=field)
