"""What every binding does around an operation: the body read within its bound, errors told, streams framed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from logging import getLogger

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from carrel.kernel import METRICS, Code, Refusal
from carrel.kernel.limits import BODY_BYTES_MAX
from carrel.surfaces.a2a.errors import (
    CONTENT_TYPE_NOT_SUPPORTED,
    INVALID_JSON,
    INVALID_PARAMS,
    A2aError,
    broken,
    from_refusal,
    wrong,
)
from carrel.surfaces.a2a.rendering import Json
from carrel.surfaces.a2a.tasks import Frames
from carrel.surfaces.house import House
from carrel.surfaces.identity import WrongTokens, identify
from carrel.surfaces.streaming import PING, FrameStream

_log = getLogger("carrel.a2a")
_TYPES = ("application/json", "application/a2a+json")
_CURSOR_DIGITS_MAX = 18


async def answered(request: Request, route: str, work: Callable[[], Awaitable[Response]],
                   tell: Callable[[A2aError], Response]) -> Response:  # fmt: skip
    """The answer that `work` gives, or what `tell` makes of the error it met."""
    try:
        _refuse_nul(request)
        response = await work()
    except A2aError as error:
        response = tell(error)
    except Refusal as refusal:
        response = tell(from_refusal(refusal))
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
        raise A2aError(INVALID_PARAMS, "The address holds a NUL character.", field="address")


async def read_json(request: Request) -> object:
    """The body as JSON; nothing for an empty one."""
    kind = request.headers.get("content-type", _TYPES[0]).partition(";")[0].strip().lower()
    if kind not in _TYPES:
        raise A2aError(CONTENT_TYPE_NOT_SUPPORTED, "Send the body as application/json or application/a2a+json.")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise Refusal(Code.TOO_LARGE, f"A body has at most {BODY_BYTES_MAX} bytes.")
        chunks.append(chunk)
    raw = b"".join(chunks)
    if not raw.strip():
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise A2aError(INVALID_JSON, f"The body is no valid JSON: {error}.") from error


def last_seen(headers: Headers) -> int | None:
    """The number of the last change a follower has seen, as it says itself."""
    text = headers.get("last-event-id", "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _CURSOR_DIGITS_MAX:
        raise wrong("Last-Event-ID", "Last-Event-ID is the id of an event of this task.")
    return int(text)


def framed(
    request: Request,
    house: House,
    wrong_tokens: WrongTokens,
    frames: Frames,
    shape: Callable[[Json], object],
    headers: Mapping[str, str],
) -> FrameStream:
    """A stream of updates as server-sent events, each with its number; `shape` makes the binding's form of it."""
    return FrameStream(
        _bytes(frames, shape),
        closing=house.closing,
        still_allowed=partial(_still_allowed, request, house, wrong_tokens),
        headers=headers,
    )


async def _bytes(frames: Frames, shape: Callable[[Json], object]) -> AsyncIterator[bytes]:
    async for update in frames:
        if update is None:
            yield PING
        else:
            yield b"id: %d\ndata: %s\n\n" % (update[0], msgspec.json.encode(shape(update[1])))
            # Reading never waits, so others get their turn between two updates.
            await asyncio.sleep(0)


async def _still_allowed(request: Request, house: House, wrong_tokens: WrongTokens) -> bool:
    try:
        return await identify(request, house, wrong_tokens) is not None
    except Refusal as refusal:
        if refusal.code is Code.STORAGE_UNAVAILABLE:
            raise
        return False
