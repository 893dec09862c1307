"""Errors in the format of Open Responses, with the same statuses as on every surface."""

from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from carrel.kernel import Refusal
from carrel.surfaces.http.errors import STATUS

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ErrorShape(Struct, frozen=True, kw_only=True):
    """What went wrong; `param` names the field."""

    message: str
    type: str
    code: str
    param: str | None


class ResponsesErrorBody(Struct, frozen=True, kw_only=True):
    """The body of every error of Open Responses."""

    error: ErrorShape


class ResponsesError(Exception):
    """An error in the terms of Open Responses; `param` names the field."""

    def __init__(
        self, status: int, code: str, message: str, *, param: str | None = None, retry_after_seconds: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after_seconds = retry_after_seconds

    def body(self) -> dict[str, Any]:
        """Return the error as responses carry it."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"message": self.message, "type": kind, "code": self.code, "param": self.param}

    def response(self) -> Response:
        headers = {} if self.retry_after_seconds is None else {"Retry-After": str(self.retry_after_seconds)}
        headers |= {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        return Response(msgspec.json.encode({"error": self.body()}), self.status, headers, "application/json")


def from_refusal(refusal: Refusal) -> ResponsesError:
    return ResponsesError(
        STATUS[refusal.code],
        str(refusal.code),
        refusal.message,
        # The rooms below say `message`; the field here is `input`.
        param="input" if refusal.field in ("message", "attachments") else refusal.field,
        retry_after_seconds=refusal.retry_after_seconds,
    )


def wrong(param: str, message: str, code: str = "invalid_params") -> ResponsesError:
    return ResponsesError(400, code, message, param=param)


def no_response() -> ResponsesError:
    """Return the error for a response that does not exist or belongs to another caller."""
    return ResponsesError(404, "not_found", "There is no such response, or it is not yours.")
