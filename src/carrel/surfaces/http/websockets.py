"""WebSockets: messages in, values out within a time limit, and close codes that say why."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import getLogger

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from carrel.kernel import Refusal
from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_SEND_SECONDS_MAX
from carrel.surfaces.http.services import Services

DONE, GOING_AWAY, NOT_ALLOWED, BROKEN, TRY_AGAIN_LATER = 1000, 1001, 1008, 1011, 1013
_log = getLogger("carrel.surfaces")
_encode = msgspec.json.Encoder().encode


class Closing(Exception):
    """The connection must be closed, with a code that says why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def next_message(socket: WebSocket) -> bytes:
    """Return the next message of the client, text or binary; WebSocketDisconnect once it has left."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", DONE))
    return message.get("bytes") or (message.get("text") or "").encode()


async def send_value(socket: WebSocket, value: object) -> None:
    """Send a value as JSON; Closing when the client does not read it in time."""
    try:
        async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
            await socket.send_text(_encode(value).decode())
    except TimeoutError:
        raise Closing(TRY_AGAIN_LATER) from None


async def serve(
    socket: WebSocket,
    services: Services,
    until_revoked: Awaitable[Refusal],
    start: Callable[[asyncio.TaskGroup], None],
    *,
    name: str,
) -> None:
    """Run the tasks that `start` adds until either side ends the connection, then close it; the code says why."""
    code = DONE
    try:
        async with asyncio.TaskGroup() as group:
            start(group)
            group.create_task(_close_after(services.closing.wait(), GOING_AWAY))
            group.create_task(_close_after(until_revoked, NOT_ALLOWED))
    except* WebSocketDisconnect:
        code = DONE
    except* Closing as closings:
        # The first one, when several tasks ended the connection at once.
        code = next(error.code for error in closings.exceptions if isinstance(error, Closing))
    except* Refusal as refused:
        # Only an unavailable database refuses here: refusals of a message were sent as its answer.
        _log.warning("%s_broken_off", name, extra={"reason": str(refused.exceptions[0])})
        code = TRY_AGAIN_LATER
    except* Exception:  # boundary: one broken connection must not take the server's others with it
        _log.exception("%s_failed", name, extra={"request_id": socket.state.request_id})
        code = BROKEN
    # A client that no longer reads is not waited for.
    with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
        async with asyncio.timeout(STREAM_END_SECONDS_MAX):
            await socket.close(code)


async def _close_after(end: Awaitable[object], code: int) -> None:
    await end
    raise Closing(code)
