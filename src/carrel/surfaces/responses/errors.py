"""What can go wrong in Open Responses' own error body, under the status that every surface gives it."""

from typing import Any

from carrel.kernel import Refusal
from carrel.surfaces.http.errors import STATUS

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ResponsesError(Exception):
    """A request that cannot be granted, as Open Responses says it; `param` names the field."""

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
        """The error as every answer carries it."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"message": self.message, "type": kind, "code": self.code, "param": self.param}

    def headers(self) -> dict[str, str]:
        """What the answer's head says beside the status."""
        found = {} if self.retry_after_seconds is None else {"Retry-After": str(self.retry_after_seconds)}
        return found | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


def from_refusal(refusal: Refusal) -> ResponsesError:
    """A refusal of the house in the terms of Open Responses."""
    return ResponsesError(
        STATUS[refusal.code],
        str(refusal.code),
        refusal.message,
        # The door calls it a message, this surface its input.
        param="input" if refusal.field in ("message", "attachments") else refusal.field,
        retry_after_seconds=refusal.retry_after_seconds,
    )


def wrong(param: str, message: str, code: str = "invalid_params") -> ResponsesError:
    """A field that does not hold what it should."""
    return ResponsesError(400, code, message, param=param)


def no_response() -> ResponsesError:
    """The one answer for a response that is missing and for one that is another's."""
    return ResponsesError(404, "not_found", "There is no such response here, or it is not yours.")


def no_previous_response() -> ResponsesError:
    """The same for a response that was to be gone on from."""
    return ResponsesError(
        404,
        "previous_response_not_found",
        "There is no response of that id to go on from, or it is not yours.",
        param="previous_response_id",
    )
