"""What every binding does around an operation: the body read within its bound, errors told, streams framed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from carrel.surfaces.a2a.errors import INVALID_JSON, A2aError, from_refusal, wrong
from carrel.surfaces.a2a.task_view import Json
from carrel.surfaces.a2a.tasks import Frames
from carrel.surfaces.http import responder
from carrel.surfaces.http.bodies import read_body
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens, is_still_known
from carrel.surfaces.http.streaming import PING, FrameStream, seen_event

_TYPES = ("application/json", "application/a2a+json")


async def answered(request: Request, route: str, work: Callable[[], Awaitable[Response]],
                   tell: Callable[[A2aError], Response]) -> Response:  # fmt: skip
    """The answer that `work` gives, or what `tell` makes of the error it met."""

    async def worked() -> Response:
        try:
            return await work()
        except A2aError as error:
            return tell(error)

    return await responder.answered(request, route, worked, lambda refusal: tell(from_refusal(refusal)))


async def read_json(request: Request) -> object:
    """The body as JSON; nothing for an empty one."""
    raw = await read_body(request, _TYPES)
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
    seen = seen_event(text)
    if seen is None:
        raise wrong("Last-Event-ID", "Last-Event-ID is the id of an event of this task.")
    return seen


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
        still_allowed=partial(is_still_known, request, house, wrong_tokens),
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
