"""Answers requests: even if something goes wrong, the client gets a response, and it is counted."""

from collections.abc import Awaitable, Callable
from logging import getLogger

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from carrel.kernel import METRICS, Access, Code, Refusal
from carrel.surfaces.http.errors import broken, refusal_response

_log = getLogger("carrel.surfaces")
# Who changed what; its lines go to a file of their own, if the settings want one.
_audit = getLogger("carrel.audit")
_READS = ("GET", "HEAD", "OPTIONS")


async def answer_request(
    request: Request,
    route: str,
    work: Callable[[], Awaitable[Response]],
    to_response: Callable[[Refusal], Response] | None = None,
) -> Response:
    """Return the response of `work`, or `to_response` of its refusal: by default the common error body."""
    to_response = to_response or (lambda refusal: refusal_response(refusal, request.state.request_id))
    try:
        _refuse_nul(request)
        response = await work()
    except Refusal as refusal:
        response = to_response(refusal)
    except ClientDisconnect:
        response = Response(status_code=499)
    except Exception:  # boundary: one broken request must not end the connection without an answer
        _log.exception("request_failed", extra={"request_id": request.state.request_id, "route": route})
        response = to_response(broken())
    METRICS.count("http.requests.count", "", route=route, status=str(response.status_code))
    if request.method not in _READS:
        _note_change(request, route, response.status_code)
    return response


def _note_change(request: Request, route: str, status: int) -> None:
    """Log who asked for a change, and the outcome, without bodies and tokens."""
    access: Access | None = getattr(request.state, "access", None)
    caller = {} if access is None else {"account_id": access.account_id, "kind": access.kind, "actor": access.actor_id}
    # A secret in the path must not be logged.
    path = route if "secret" in route else request.scope["path"]
    asked = {"method": request.method, "path": path, "status": status}
    _audit.info("request", extra={"request_id": request.state.request_id, **caller, **asked})


def _refuse_nul(request: Request) -> None:
    """Refuse a NUL in the URL: PostgreSQL cannot store one, so nothing can be found by it."""
    if b"%00" in request.scope["raw_path"] + request.scope["query_string"]:
        raise Refusal(Code.INVALID_PARAMS, "The URL contains a NUL character, which is not allowed.")
