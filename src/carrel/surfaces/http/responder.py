"""One request from its arrival to its answer: whatever comes of it, the caller is told, and it is counted."""

from collections.abc import Awaitable, Callable
from logging import getLogger

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from carrel.kernel import METRICS, Code, Refusal
from carrel.surfaces.http.errors import broken, refusal_response

_log = getLogger("carrel.surfaces")


async def answered(
    request: Request,
    route: str,
    work: Callable[[], Awaitable[Response]],
    tell: Callable[[Refusal], Response] | None = None,
) -> Response:
    """The answer that `work` gives, or what `tell` makes of a refusal: the house's error body where it is left out."""
    tell = tell or (lambda refusal: refusal_response(refusal, request.state.request_id))
    try:
        _refuse_nul(request)
        response = await work()
    except Refusal as refusal:
        response = tell(refusal)
    except ClientDisconnect:
        response = Response(status_code=499)
    except Exception:  # boundary: one broken request must not end the connection without an answer
        _log.exception("request_failed", extra={"request_id": request.state.request_id, "route": route})
        response = tell(broken())
    METRICS.count("http.requests.count", route=route, status=str(response.status_code))
    return response


def _refuse_nul(request: Request) -> None:
    """An address with a NUL names nothing: PostgreSQL could not even be asked for it."""
    if b"%00" in request.scope["raw_path"] + request.scope["query_string"]:
        raise Refusal(Code.INVALID_PARAMS, "The address holds a NUL character, which no text here may contain.")
