"""The one total table from what can go wrong to A2A's codes, for JSON-RPC, HTTP and gRPC, and the two error bodies."""

from typing import Any

from msgspec import Struct

from carrel.kernel import Code, Refusal

_A2A = "a2a-protocol.org"
_OWN = "carrel"
_REASON = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"


class Fault(Struct, frozen=True):
    """A kind of error: its reason, and its code in each binding."""

    reason: str
    rpc: int
    http: int
    grpc: str
    domain: str = _A2A


TASK_NOT_FOUND = Fault("TASK_NOT_FOUND", -32001, 404, "NOT_FOUND")
TASK_NOT_CANCELABLE = Fault("TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION")
PUSH_NOT_SUPPORTED = Fault("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400, "FAILED_PRECONDITION")
UNSUPPORTED_OPERATION = Fault("UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION")
CONTENT_TYPE_NOT_SUPPORTED = Fault("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT")
NO_EXTENDED_CARD = Fault("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 400, "FAILED_PRECONDITION")
EXTENSION_REQUIRED = Fault("EXTENSION_SUPPORT_REQUIRED", -32008, 400, "FAILED_PRECONDITION")
VERSION_NOT_SUPPORTED = Fault("VERSION_NOT_SUPPORTED", -32009, 400, "FAILED_PRECONDITION")
INVALID_PARAMS = Fault("INVALID_PARAMS", -32602, 400, "INVALID_ARGUMENT", _OWN)
INVALID_JSON = Fault("INVALID_JSON", -32700, 400, "INVALID_ARGUMENT", _OWN)
INVALID_REQUEST = Fault("INVALID_REQUEST", -32600, 400, "INVALID_ARGUMENT", _OWN)
METHOD_NOT_FOUND = Fault("METHOD_NOT_FOUND", -32601, 404, "UNIMPLEMENTED", _OWN)
QUEUE_FULL = Fault("QUEUE_FULL", -32000, 429, "RESOURCE_EXHAUSTED", _OWN)
_UNAUTHENTICATED = Fault("UNAUTHENTICATED", -32000, 401, "UNAUTHENTICATED", _OWN)
_FORBIDDEN = Fault("FORBIDDEN", -32000, 403, "PERMISSION_DENIED", _OWN)
_NOT_FOUND = Fault("NOT_FOUND", -32000, 404, "NOT_FOUND", _OWN)
_CONFLICT = Fault("CONFLICT", -32000, 409, "ABORTED", _OWN)
_TOO_LARGE = Fault("TOO_LARGE", -32602, 413, "INVALID_ARGUMENT", _OWN)
_RATE_LIMITED = Fault("RATE_LIMITED", -32000, 429, "RESOURCE_EXHAUSTED", _OWN)
_INTERNAL = Fault("INTERNAL", -32603, 500, "INTERNAL", _OWN)
UNAVAILABLE = Fault("UNAVAILABLE", -32603, 503, "UNAVAILABLE", _OWN)

_FAULTS: dict[Code, Fault] = {
    Code.INVALID_PARAMS: INVALID_PARAMS,
    Code.INVALID_JSON: INVALID_JSON,
    Code.TOKEN_IN_QUERY: INVALID_PARAMS,
    Code.SESSION_REQUIRED: INVALID_PARAMS,
    Code.INVALID_CONVERSATION_KEY: INVALID_PARAMS,
    Code.RESERVED_SESSION_KEY: INVALID_PARAMS,
    Code.UNAUTHENTICATED: _UNAUTHENTICATED,
    Code.UNKNOWN_SESSION: _UNAUTHENTICATED,
    Code.FORBIDDEN: _FORBIDDEN,
    Code.SESSION_CLOSED: _FORBIDDEN,
    Code.SEND_DENIED: _FORBIDDEN,
    Code.TOOL_NOT_ALLOWED: _FORBIDDEN,
    Code.NOT_FOUND: _NOT_FOUND,
    Code.METHOD_NOT_ALLOWED: METHOD_NOT_FOUND,
    Code.CONFLICT: _CONFLICT,
    Code.AMBIGUOUS_SESSION: _CONFLICT,
    Code.IDEMPOTENCY_MISMATCH: _CONFLICT,
    Code.ALREADY_ENDED: UNSUPPORTED_OPERATION,
    Code.TOO_LARGE: _TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE: CONTENT_TYPE_NOT_SUPPORTED,
    Code.TOO_LONG: INVALID_PARAMS,
    Code.LIMIT_REACHED: INVALID_PARAMS,
    Code.QUEUE_FULL: QUEUE_FULL,
    Code.RATE_LIMITED: _RATE_LIMITED,
    Code.INTERNAL: _INTERNAL,
    Code.DRAINING: UNAVAILABLE,
    Code.STORAGE_UNAVAILABLE: UNAVAILABLE,
}


class A2aError(Exception):
    """A request that cannot be granted, as A2A says it."""

    def __init__(
        self, fault: Fault, message: str, *, field: str | None = None, retry_after_seconds: int | None = None
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.field = field
        self.retry_after_seconds = retry_after_seconds

    def details(self) -> list[dict[str, Any]]:
        """The ErrorInfo, and which field is wrong where one is."""
        metadata = {} if self.field is None else {"field": self.field}
        found: list[dict[str, Any]] = [
            {"@type": _REASON, "reason": self.fault.reason, "domain": self.fault.domain, "metadata": metadata}
        ]
        if self.field is not None:
            violation = {"field": self.field, "description": self.message}
            found.append({"@type": _BAD_REQUEST, "fieldViolations": [violation]})
        return found

    def rpc_body(self) -> dict[str, Any]:
        """The error member of a JSON-RPC answer."""
        return {"code": self.fault.rpc, "message": self.message, "data": self.details()}

    def http_body(self) -> dict[str, Any]:
        """The body of an HTTP answer."""
        status = {"code": self.fault.http, "status": self.fault.grpc, "message": self.message}
        return {"error": status | {"details": self.details()}}

    def legacy_http_body(self) -> dict[str, Any]:
        """The same as 0.3's client reads it: it knows an error by the name of its class."""
        name = self.fault.reason.title().replace("_", "") + "Error"
        return {"type": name, "message": self.message} | self.http_body()

    def headers(self) -> dict[str, str]:
        """What the answer's head says beside the status."""
        found = {} if self.retry_after_seconds is None else {"Retry-After": str(self.retry_after_seconds)}
        return found | ({"WWW-Authenticate": "Bearer"} if self.fault is _UNAUTHENTICATED else {})


def from_refusal(refusal: Refusal) -> A2aError:
    """A refusal of the house in A2A's codes."""
    fault = _FAULTS[refusal.code]
    return A2aError(
        fault, refusal.message, field=refusal.field, retry_after_seconds=refusal.retry_after_seconds
    )  # fmt: skip


def task_not_found() -> A2aError:
    """The one answer for a task that is missing and for one that is another's."""
    return A2aError(TASK_NOT_FOUND, "There is no such task here, or it is not yours.")


def wrong(field: str, message: str) -> A2aError:
    """A field that does not hold what it should."""
    return A2aError(INVALID_PARAMS, message, field=field)
